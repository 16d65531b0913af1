#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sanitized: the core with ASan, UBSan and LeakSanitizer, while programs come
# and go, and at its end.

bats_require_minimum_version 1.5.0
load net

suite_needs() {
	core=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}/asan/bin/ofed_core
	[ -x "$core" ] || echo "$core is missing (make FLAVOUR=asan core)"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	suite_needs
	: >"$OFED_CONF"
	words=$BATS_TEST_TMPDIR/core
	ip netns exec "$A" "$core" -f >"$words" 2>&1 3>&- &
	core_pid=$!
	wait_for ask "$A" ping >/dev/null
}

teardown() {
	[ -n "$WHY" ] || core_is_gone "$A" || kill -KILL "$core_pid"
}

# Its exit status is that of a leak, too.
ended_well() {
	local status=0

	wait "$core_pid" || status=$?
	cat "$words"
	[ "$status" = 0 ]
	! grep -E "Sanitizer|runtime error" "$words"
}

@test "it is unloaded after programs, by one who waits for its end" {
	same "$A" "ibv_rc_pingpong -g 1 -n 200"
	same "$A" "ibv_ud_pingpong -g 1 -n 200"
	same "$A" "ibv_srq_pingpong -g 1 -n 200"
	pair "$A" "rping -s -C 20 -a $SERVER" "rping -c -C 20 -a $SERVER"
	ip netns exec "$A" "$BIN/ofedctrl" -q
	ip netns exec "$A" "$BIN/ofedctrl" -u
	ended_well
}

@test "it is ended by a signal, with a program and a question open" {
	begin_server rping -s -a "$SERVER"
	# shellcheck disable=SC2016
	ip netns exec "$A" perl -MIO::Socket::UNIX -e '
		my $inode = (stat "/proc/self/ns/net")[1];
		my $s = IO::Socket::UNIX->new(
			"$ENV{OFED_CORE_RUNDIR}/net-$inode/control") or exit 1;
		syswrite $s, "half a question";
		syswrite STDOUT, "asked\n";
		sysread $s, my $end, 1' >"$BATS_TEST_TMPDIR/open" 3>&- &
	local open=$!
	wait_for grep -q asked "$BATS_TEST_TMPDIR/open"
	ask "$A" ping
	kill -TERM "$core_pid"
	ended_well
	kill "$SERVER_PID" 2>/dev/null || :
	wait "$SERVER_PID" || :
	wait "$open" || :
}
