#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# typed: the tools of the OFED chapter as an administrator types them, without
# ofed_run, and two hosts that speak different versions of RoCE.

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	PATH=$BIN:$PATH
	export OFED_CORE_ROCE_V2_MODE=1
	start_both
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	PATH=$BIN:$PATH
}

plain() { # namespace, command...
	local n=$1

	shift
	timeout -k 5 30 ip netns exec "$n" "$@"
}

@test "ibv_devices shows the core's device" {
	run -0 plain "$A" ibv_devices
	[[ $output == *"node GUID"*ent0* ]]
	[ "$(plain "$A" ibv_devices)" = "$(in_ns "$A" /usr/bin/ibv_devices)" ]
}

@test "rping: a server and its client" {
	plain "$A" rping -s -a "$SERVER" -C 3 -v 3>&- \
		>"$BATS_TEST_TMPDIR/server" 2>&1 &
	wait_for listens "$A" $!
	run -0 plain "$B" rping -c -a "$SERVER" -C 3 -v -V
	[[ $output == *"ping data: rdma-ping-2: "* ]]
	wait $!
	grep -q "server ping data: rdma-ping-2: " "$BATS_TEST_TMPDIR/server"
}

@test "ibv_devinfo -e: both versions of a GID side by side" {
	run -0 plain "$A" ibv_devinfo -e
	mapfile -t rows < <(grep 0a4d:0001 <<<"$output")
	[ ${#rows[@]} = 2 ]
	[[ ${rows[0]} == ent0*" RoCEv1   ETHER "*"(off)" ]]
	[[ ${rows[1]} == ent0*" RoCEv2   IPv4 "*" 010.077.000.001" ]]
	[ "$(awk 'NR > 1 { print $3 }' <<<"$output" | uniq -c |
		awk '$1 != 1')" = "" ]
}

@test "IBV_CONFIG_DIR names the directory of drivers" {
	mkdir "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/rxe"
	echo "driver rxe" >"$BATS_TEST_TMPDIR/rxe/rxe.driver"
	run -0 env IBV_CONFIG_DIR="$BATS_TEST_TMPDIR/rxe" \
		ip netns exec "$A" ibv_devices
	[[ $output == *ent0* ]]
	run env IBV_CONFIG_DIR="$BATS_TEST_TMPDIR/none" \
		ip netns exec "$A" ibv_devices
	[[ $output != *ent0" "* ]]
}

@test "the profile puts the core's devices into every shell" {
	mkdir -p "$BATS_TEST_TMPDIR/lib"
	sed "s|@LIBDIR@|$BIN/../lib|" "$BATS_TEST_DIRNAME/../../conf/ofed_core.profile" \
		>"$BATS_TEST_TMPDIR/ofed_core.sh"
	# shellcheck disable=SC2016 # for the shell there
	run -0 plain "$A" sh -c '. "$1"; /usr/bin/ibv_devices' sh \
		"$BATS_TEST_TMPDIR/ofed_core.sh"
	[[ $output == *ent0* ]]
}

@test "the examples of ibv_devices(8) and rping(8)" {
	local page

	for page in ibv_devices rping; do
		plain "$A" "$BATS_TEST_DIRNAME/../cmd/examples.sh" \
			"$BATS_TEST_DIRNAME/../../man/$page.8" 3>&-
	done
}

# One host of version 1 and one of version 2, both ways.
@test "a peer of the other version of RoCE is named within 5 s" {
	local mode other

	begin_server rping -s -P -a "$SERVER"
	for mode in 0 1; do
		other=$((2 - mode))
		stop_core "$B"
		OFED_CORE_ROCE_V2_MODE=$mode ip netns exec "$B" \
			"$BIN/ofed_core" -f 2>"$BATS_TEST_TMPDIR/log" 3>&- &
		wait_for has_core "$B"
		if [ "$mode" = 1 ]; then
			end_server
			stop_core "$A"
			OFED_CORE_ROCE_V2_MODE=0 start_core "$A"
			begin_server rping -s -P -a "$SERVER"
		fi
		run ! timeout 5 ip netns exec "$B" rping -c -a "$SERVER" -C 1
		[[ $output == *"RDMA_CM_EVENT_UNREACHABLE, error -93"* ]]
		grep "$SERVER speaks RoCE version $other, this host version $((3 - other))" \
			"$BATS_TEST_TMPDIR/log"
	done
	end_server
}

has_core() { # namespace
	ask "$1" ping >/dev/null 2>&1
}

@test "without a core the tools name the cure" {
	[ ! -e /sys/class/infiniband ] || skip "the kernel has RDMA"
	stop_core "$B"
	for words in ibv_devices "rping -c -a $SERVER -C 1"; do
		# shellcheck disable=SC2086
		run ! plain "$B" $words
		[[ $output == *"ofedctrl -l loads the RDMA core"* ]]
	done
}
