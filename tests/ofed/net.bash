# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# net: two network namespaces with a core each, for the suites of ofed_core.
#
# $A and $B are joined by a veth pair, "ent0" in both; $A is 10.77.0.1 and
# fd77::1, $B is 10.77.0.2 and fd77::2. They are there for a suite that loads
# this; where they cannot be, its tests are skipped, and WHY says why. A suite
# may say what it needs beside ("suite_needs" prints what is missing), and what
# it does once ("suite_begin").

BIN=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}/bin
# Suites of two lanes have PID namespaces of their own.
ofed_n=$$x$RANDOM
A=${OFED_A:-ofed${ofed_n}a}
B=${OFED_B:-ofed${ofed_n}b}
# Each test is a process of its own: they share the names of the first.
export OFED_A=$A OFED_B=$B
SERVER=10.77.0.1

# Why the suite cannot run here; empty when it can.
why_not() {
	local tool

	if [ "$(id -u)" != 0 ]; then
		echo "network namespaces need root"
		return
	fi
	for tool in ibv_devinfo ibv_rc_pingpong rping perl; do
		if ! command -v "$tool" >/dev/null; then
			echo "$tool is missing"
			return
		fi
	done
	# Debian: package ibverbs-providers.
	if ! ls /usr/lib/*/libibverbs/librxe-rdmav*.so >/dev/null 2>&1; then
		echo "the rxe provider of libibverbs is missing"
	fi
}

namespaces() {
	local n

	ip netns add "$A" && ip netns add "$B" &&
		ip link add ent0 netns "$A" type veth peer name ent0 \
			netns "$B" || return
	ip -n "$A" addr add 10.77.0.1/24 dev ent0
	ip -n "$B" addr add 10.77.0.2/24 dev ent0
	ip -n "$A" addr add fd77::1/64 dev ent0 nodad
	ip -n "$B" addr add fd77::2/64 dev ent0 nodad
	for n in "$A" "$B"; do
		# Ready at once: no duplicate address detection.
		ip netns exec "$n" sysctl -qw net.ipv6.conf.ent0.accept_dad=0
		ip -n "$n" link set lo up
		ip -n "$n" link set ent0 up
		ip -n "$n" route add 224.0.0.0/4 dev ent0
	done
	for n in "$A" "$B"; do
		wait_for link_is_ready "$n"
	done
}

link_is_ready() { # namespace
	ip -n "$1" -o -6 addr show dev ent0 scope link | grep -v tentative |
		grep -q inet6
}

# Repeats a question for 60 s, or $PATIENCE; fails when the answer stays no.
wait_for() { # command...
	local end=$((SECONDS + ${PATIENCE:-60}))

	while [ "$SECONDS" -le "$end" ]; do
		"$@" && return
		sleep 0.05
	done
	echo "never happened: $*" >&2
	return 1
}

# One request to the core of a namespace; prints the answer.
ask() { # namespace, request
	# shellcheck disable=SC2016
	ip netns exec "$1" perl -MIO::Socket::UNIX -e '
		my $inode = (stat "/proc/self/ns/net")[1];
		my $s = IO::Socket::UNIX->new(
			"$ENV{OFED_CORE_RUNDIR}/net-$inode/control") or exit 1;
		print $s "$ARGV[0]\n";
		while (<$s>) { print; last unless /^=/ }' "$2"
}

statistic() { # namespace, name
	ask "$1" statistics | sed -n "s/^=$2 //p"
}

start_core() { # namespace
	ip netns exec "$1" "$BIN/ofed_core"
}

stop_core() { # namespace
	ask "$1" "set delay_kill 0" >/dev/null
	ask "$1" "set delay_between_signals 200" >/dev/null
	ask "$1" unload >/dev/null
	wait_for core_is_gone "$1"
}

core_is_gone() { # namespace
	! ask "$1" ping >/dev/null 2>&1
}

start_both() {
	start_core "$A" && start_core "$B"
}

# A program with the shim in a namespace, for at most 30 s.
in_ns() { # namespace, command...
	local n=$1

	shift
	timeout -k 5 30 ip netns exec "$n" "$BIN/ofed_run" "$@"
}

# The server waits for its client: a TCP listener, one of rdma_cm, or the UDP
# socket of datagram rsockets. Nobody else lives in the namespace. What listens
# on loopback is no server (uDAPL's scm, for a moment).
listens() { # namespace, pid of the server
	ip netns exec "$1" ss -Hltn "not src 127.0.0.0/8" | grep -q . ||
		ip netns exec "$1" ss -Hlun "sport = :7174" | grep -q . ||
		ask "$1" listeners | grep -q "^="
}

# A server in $A that goes on after its client: SERVER_PID, ended by end_server.
begin_server() { # command...
	# No function: the signal must reach timeout, which hands it on.
	timeout -k 5 60 ip netns exec "$A" "$BIN/ofed_run" "$@" \
		>"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	SERVER_PID=$!
	wait_for listens "$A" "$SERVER_PID"
}

end_server() {
	kill "$SERVER_PID" 2>/dev/null || :
	wait "$SERVER_PID" || :
	wait_for listens_not "$A"
}

listens_not() { # namespace
	! listens "$1"
}

# A client of rping ends well when its server hangs up, which that one does when
# a request failed: one that is longer than the server's own -S, 64 without it.
rping_was_well() {
	! grep "completion failed" "$BATS_TEST_TMPDIR/server"
}

# A server in $A and its client in namespace $1; both must end well.
pair() { # namespace of the client, server command, client command
	local tries=3

	until try_pair "$@"; do
		tries=$((tries - 1))
		[ $tries != 0 ] || return 1
		was_disturbed || return 1
	done
}

# perftest measures the processor's clock when it is done; beside other load it
# may find no such thing, whatever the device did.
was_disturbed() {
	grep -q "Can't produce a report" "$BATS_TEST_TMPDIR/client" \
		"$BATS_TEST_TMPDIR/server"
}

try_pair() { # as pair
	local client=$1 server_pid rc=0 server_rc=0
	local -a words

	read -ra words <<<"$2"
	in_ns "$A" "${words[@]}" >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	server_pid=$!
	wait_for listens "$A" "$server_pid"
	read -ra words <<<"$3"
	in_ns "$client" "${words[@]}" >"$BATS_TEST_TMPDIR/client" 2>&1 || rc=$?
	wait "$server_pid" || server_rc=$?
	if [ $rc != 0 ] || [ $server_rc != 0 ]; then
		echo "client: $3: status $rc"
		cat "$BATS_TEST_TMPDIR/client"
		echo "server: $2: status $server_rc"
		cat "$BATS_TEST_TMPDIR/server"
		return 1
	fi
}

# Both sides get the same options; the client also gets the server's address.
same() { # namespace of the client, command
	pair "$1" "$2" "$2 $SERVER"
}

same_s() { # with -s before the address, as the programs of librdmacm
	pair "$1" "$2" "$2 -s $SERVER"
}

# ofi_rxm of libfabric 1.17 asks for completions, then for the peer's goodbye.
# When both its last message and the goodbye come in between, it closes the
# endpoint first, then takes the message, and puts its buffer back to that
# endpoint: a crash at the end, on any device, for a thread that waits for a
# processor there. With a shared receive context the buffers are not the
# endpoint's.
rxm() { # namespace of the client, arguments of fi_pingpong
	local -x FI_OFI_RXM_USE_SRX=1
	local n=$1

	shift
	same "$n" "fi_pingpong -p verbs;ofi_rxm -e rdm -I 20 -c $*"
}

# Python on standard input, in $B, with roce.py; its core must be stopped when
# answers are to come back.
peer() { # argument...
	ip netns exec "$B" env PYTHONPATH="$BATS_TEST_DIRNAME" \
		PYTHONDONTWRITEBYTECODE=1 timeout -k 5 60 python3 - "$@"
}

# Captures what comes in at an interface, until capture_end; see captured.
capture_begin() { # namespace, interface
	CAPTURE=$BATS_TEST_TMPDIR/capture
	rm -f "$CAPTURE"
	ip netns exec "$1" tshark -q -i "$2" -w "$CAPTURE" \
		2>"$CAPTURE.err" 3>&- &
	CAPTURE_PID=$!
	wait_for grep -q "Capturing on" "$CAPTURE.err"
	# The words come before the socket, the file's head when it is bound.
	wait_for test -s "$CAPTURE"
}

capture_end() {
	# What has been sent is to be in the file.
	sleep 0.3
	kill -INT "$CAPTURE_PID"
	wait "$CAPTURE_PID" || :
}

# Lines of fields of the packets that a filter lets through.
captured() { # filter, field...
	local filter=$1 field words=()

	shift
	for field in "$@"; do
		words+=(-e "$field")
	done
	tshark -r "$CAPTURE" -Y "$filter" -T fields "${words[@]}" 2>/dev/null
}

need() { # command...
	local tool

	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "$tool is missing"
	done
}

end_namespaces() {
	local n

	for n in "$A" "$B"; do
		ip netns pids "$n" 2>/dev/null | xargs -r kill 2>/dev/null
	done
	for n in "$A" "$B"; do
		PATIENCE=10 wait_for namespace_is_empty "$n" ||
			ip netns pids "$n" | xargs -r kill -KILL
		ip netns del "$n" 2>/dev/null
	done
	return 0
}

namespace_is_empty() { # namespace
	[ -z "$(ip netns pids "$1" 2>/dev/null)" ]
}

# ---- for suites that say nothing else ----

suite_needs() {
	:
}

suite_begin() {
	:
}

setup_file() {
	WHY=$(why_not)
	[ -n "$WHY" ] || WHY=$(suite_needs)
	if [ -z "$WHY" ]; then
		namespaces || WHY="no network namespaces can be made here"
	fi
	export WHY
	[ -n "$WHY" ] || suite_begin
}

teardown_file() {
	[ -n "$WHY" ] || end_namespaces
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
}
