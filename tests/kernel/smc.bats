#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# smc: the wire half of the link service with the SMC-R of a Linux kernel, in a
# virtual machine over rdma_rxe; here it has ofed_core. "make check" runs a part.
# limit: 300
# long: 900

bats_require_minimum_version 1.5.0
OFED_A=${OFED_A:-smck$$x$RANDOM}
load ../ofed/net
load vm
load neighbour

TOP=${SMC_R_BUILD:-$(cd "$BATS_TEST_DIRNAME/../../build" && pwd)}
TALK=$TOP/obj/plain/tests/rc/talk
OPTION=$TOP/obj/plain/tests/rc/syn_option
EID=SMC-R-TEST

setup_file() {
	WHY=$(why_not)
	[ -n "$WHY" ] || WHY=$(why_no_vm)
	[ -n "$WHY" ] || [ -e "$IMAGE/smc" ] ||
		WHY="the image has no module rxe_smc ($IMAGE/rxe_smc.log)"
	export WHY OFED_A
	[ -z "$WHY" ] || return 0
	: >"$OFED_CONF"
	tap_namespace && start_vm smc && start_core "$A"
	guest "$BATS_TEST_DIRNAME/smc.py pnet eth0 rxe0 &&
		$BATS_TEST_DIRNAME/smc.py ueid $EID"
}

teardown_file() {
	[ -z "$WHY" ] || return 0
	core_is_gone "$A" || stop_core "$A"
	stop_vm
	ip netns del "$A"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
}

long() {
	[ -n "${SMC_R_LONG-}" ] || skip "in make check-kernel"
}

# Ours announces SMC, as the kernel's does by itself.
ours() { # options
	timeout -k 5 60 "$OPTION" "$PORT" ip netns exec "$A" \
		"$BIN/ofed_run" "$TALK" -p "$PORT" -e "$EID" "$@"
}

# The kernel serves with the first options, we are the client with the others.
to_smc() { # options, options
	local -a options

	guest "rm -f /run/status; (timeout 60 $TALK -k -l -p $PORT $1 \
		>/run/server 2>&1; echo \$? >/run/status) >/dev/null 2>&1 &"
	read -ra options <<<"$2"
	if ! wait_for guest grep -q listening /run/server ||
		! ours -c "$GUEST" "${options[@]}" \
		>"$BATS_TEST_TMPDIR/ours" 2>&1 ||
		! wait_for guest "test -s /run/status" ||
		[ "$(guest cat /run/status)" != 0 ]; then
		cat "$BATS_TEST_TMPDIR/ours"
		guest "cat /run/status /run/server; cat /proc/net/tcp; ps
			dmesg | tail -n 30"
		return 1
	fi
	guest cat /run/server >"$BATS_TEST_TMPDIR/theirs"
}

# We serve, the kernel is the client.
from_smc() { # our options, the kernel's
	local pid
	local -a options

	read -ra options <<<"$1"
	ours -l "${options[@]}" >"$BATS_TEST_TMPDIR/ours" 2>&1 3>&- &
	pid=$!
	wait_for grep -q listening "$BATS_TEST_TMPDIR/ours"
	if ! guest "timeout 60 $TALK -k -c $SERVER -p $PORT $2" \
		>"$BATS_TEST_TMPDIR/theirs" 2>&1 || ! wait "$pid"; then
		cat "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
		return 1
	fi
}

says() { # side, words of the sum...
	local side=$1 word

	shift
	for word in "$@"; do
		tail -n 1 "$BATS_TEST_TMPDIR/$side" | grep -qw -- "$word" || {
			cat "$BATS_TEST_TMPDIR/$side"
			return 1
		}
	done
}

@test "bytes to and from a server of the kernel, and a client" {
	to_smc "" ""
	says ours smc=1 bad=0
	from_smc "" ""
	says ours smc=1 bad=0
}

@test "connections share a link group" {
	to_smc "-n 5" "-n 5 -o 5"
	says ours smc=5 bad=0
	from_smc "-n 5" "-n 5 -o 5"
	says ours smc=5 bad=0
}

@test "version 1, over IPv4 and IPv6, either side the server" {
	guest "$BATS_TEST_DIRNAME/neighbour.sh"
	pair client "$NEIGHBOUR" "-n 3 -o 3" "-n 3"
	pair_says 3 reset=0 bad=0
	pair server "$GUEST" "-x half -n 3" "-x half -n 3 -o 3"
	pair_says 3 reset=0 bad=0
	pair client fd77::77 "-x abort -n 3 -o 3" "-x abort -n 3"
	pair_says 3
	pair server fd77::2 "-x half -n 3" "-x half -n 3 -o 3"
	pair_says 3 reset=0 bad=0
	on_version1 6 6
}

@test "each way to close" {
	long
	to_smc "-x half -n 3" "-x half -n 3 -o 3"
	says ours smc=3 reset=0 bad=0
	from_smc "-x half -n 3" "-x half -n 3 -o 3"
	says ours smc=3 reset=0 bad=0
	to_smc "-x abort -n 3" "-x abort -n 3 -o 3"
	says ours smc=3
	from_smc "-x abort -n 3" "-x abort -n 3 -o 3"
	says ours smc=3 reset=3
}

@test "rings of all sizes wrap" {
	local size

	long
	for size in 16384 65536 1048576; do
		to_smc "-b 1500000" "-s $size -b 1500000"
		from_smc "-s $size -b 1500000" "-b 1500000"
		says ours smc=1 bad=0
	done
}

@test "a silent link is kept by Test Link" {
	long
	guest "sysctl -qw net.smc.smcr_testlink_time=2"
	from_smc "-n 1 -x hold -w 7" "-n 1 -x hold -w 7"
	says ours smc=1 reset=0 bad=0
	guest "sysctl -qw net.smc.smcr_testlink_time=30"
}

@test "a side that declines, and no byte is lost" {
	long
	EID=OTHER from_smc "" ""
	says ours tcp=1 bad=0
	EID=OTHER to_smc "" ""
	says ours tcp=1 bad=0
}

@test "260 connections of a kernel's client are more than one link group" {
	long
	from_smc "-q -n 260 -b 2000 -x hold -s 16384" \
		"-q -n 260 -o 260 -b 2000 -x hold"
	says ours smc=260 bad=0
}

@test "a service that ends tells the kernel" {
	long
	to_smc "-x hold -n 2" "-x hold -n 2 -o 2 -E -w 1"
	wait_for no_groups
}

no_groups() {
	[ "$(guest "$BATS_TEST_DIRNAME/smc.py link-groups")" = "0 0" ]
}
