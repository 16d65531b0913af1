#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# unload: ofedctrl -u with programs at work: which are told, which are ended,
# when; and -n, which only says so.
# limit: 200

bats_require_minimum_version 1.5.0
load net

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	: >"$OFED_CONF"
	export SMC_R_TUNABLES=$BATS_TEST_TMPDIR/tunables
	ofedctl -l
}

teardown() {
	[ -n "$WHY" ] || {
		core_is_gone "$A" || stop_core "$A"
	}
}

ofedctl() {
	ip netns exec "$A" "$BIN/ofedctrl" "$@" 3>&-
}

# A program that holds the device open and takes no event: its pid in PID, its
# words in $BATS_TEST_TMPDIR/NAME. $1 is what it does at SIGTERM.
hold() { # handler, name
	# shellcheck disable=SC2016
	in_ns "$A" perl -e '
		use Fcntl;
		$SIG{TERM} = $ARGV[0] eq "ignore" ? "IGNORE" : sub {
			syswrite STDOUT, "TERM\n";
			exit 7;
		};
		open(my $f, "+<", "/dev/infiniband/uverbs0") or die "open: $!";
		# GET_CONTEXT: the answer goes where the pointer says.
		my $answer = "\0" x 8;
		syswrite $f, pack("VvvP", 0, 4, 2, $answer) or die "write: $!";
		syswrite STDOUT, "$$\n";
		sleep 1 while 1' "$1" >"$BATS_TEST_TMPDIR/$2" 2>&1 3>&- &
	HOLDER=$!
	wait_for grep -q . "$BATS_TEST_TMPDIR/$2"
	PID=$(head -n 1 "$BATS_TEST_TMPDIR/$2")
}

@test "-u -n names the programs and when they would be ended, and does nothing" {
	[ "$(ofedctl -u -n)" = "no program uses ofed_core" ]
	ofedctl -p delay_kill=1234
	ofedctl -p delay_between_signals=567
	hold die one
	[ "$(ofedctl -u -n)" = "programs that use ofed_core:
	$PID perl (uid 0; open devices: 1; queue pairs: 0)
their devices would fail at once; those that go on would get SIGTERM after 1234 ms, and SIGKILL 567 ms later" ]
	kill -0 "$PID"
	[[ $(ofedctl -q) == *": loaded"* ]]
	run -1 ofedctl -n
	[[ $output == "Usage: "* ]]
	run -1 ofedctl -q -n
	kill "$PID"
	wait "$HOLDER" || [ $? = 7 ]
}

@test "programs hear that their device has failed" {
	local watcher unloader

	begin_server stdbuf -oL rping -s -a "$SERVER"
	# No function: a signal must reach timeout, which hands it on.
	timeout -k 5 60 ip netns exec "$A" "$BIN/ofed_run" stdbuf -oL \
		ibv_asyncwatch -d ent0 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	watcher=$!
	wait_for grep -q "async event FD" "$BATS_TEST_TMPDIR/out"
	# Long enough for both to hear of it, however slow the machine.
	ofedctl -p delay_kill=30000
	ofedctl -u >"$BATS_TEST_TMPDIR/unloader" 2>&1 &
	unloader=$!
	wait_for grep -q "IBV_EVENT_DEVICE_FATAL" "$BATS_TEST_TMPDIR/out"
	wait_for grep -q "device removal" "$BATS_TEST_TMPDIR/server"
	kill "$watcher" "$SERVER_PID" 2>/dev/null || :
	wait "$watcher" "$SERVER_PID" || :
	wait "$unloader"
	run -0 cat "$BATS_TEST_TMPDIR/unloader"
	[[ $output == "ofedctrl: programs that use ofed_core are told, and ended if they go on:"* ]]
	[[ $output == *" ibv_asyncwatch (uid 0; "* ]]
	[[ $output == *" rping (uid 0; "* ]]
	[[ $(ofedctl -q) == *"not loaded"* ]]
}

@test "work under way is flushed" {
	local client rc=0

	begin_server ibv_rc_pingpong -g 1 -n 100000000 -e
	in_ns "$A" ibv_rc_pingpong -g 1 -n 100000000 -e "$SERVER" \
		>"$BATS_TEST_TMPDIR/client" 2>&1 3>&- &
	client=$!
	wait_for talks
	# Long enough for programs that look at their completions.
	ofedctl -p delay_kill=20000
	ofedctl -u 2>/dev/null
	wait "$client" || rc=$?
	[ $rc = 1 ]
	grep -q "Work Request Flushed Error" "$BATS_TEST_TMPDIR/client" \
		"$BATS_TEST_TMPDIR/server"
	wait "$SERVER_PID" || :
}

talks() {
	[ "$(statistic "$A" queue_pairs)" = 2 ]
}

@test "SIGTERM comes after delay_kill, and not before" {
	local begin end rc=0

	ofedctl -p delay_kill=800
	hold die one
	begin=$(date +%s%N)
	ofedctl -u 2>/dev/null
	end=$(date +%s%N)
	wait "$HOLDER" || rc=$?
	[ $rc = 7 ]
	grep -q TERM "$BATS_TEST_TMPDIR/one"
	[ $(((end - begin) / 1000000)) -ge 800 ]
}

@test "who ignores SIGTERM gets SIGKILL after delay_between_signals" {
	local begin end rc=0

	ofedctl -p delay_kill=300
	ofedctl -p delay_between_signals=700
	hold ignore one
	begin=$(date +%s%N)
	ofedctl -u 2>/dev/null
	end=$(date +%s%N)
	wait "$HOLDER" || rc=$?
	[ $rc = 137 ]
	[ $(((end - begin) / 1000000)) -ge 1000 ]
	[[ $(ofedctl -q) == *"not loaded"* ]]
}

@test "programs of others are left alone, and those that ended need no wait" {
	local begin end other

	# This program has no device.
	perl -e 'sleep 30' 3>&- &
	other=$!
	hold die one
	kill "$PID"
	wait "$HOLDER" || :
	begin=$(date +%s%N)
	ofedctl -u
	end=$(date +%s%N)
	# Far from the ten seconds that are the default.
	[ $(((end - begin) / 1000000)) -lt 5000 ]
	kill "$other"
}

@test "while it unloads nobody can open a device" {
	local unloader

	ofedctl -p delay_kill=2000
	hold die one
	ofedctl -u 2>/dev/null &
	unloader=$!
	wait_for refuses
	wait "$unloader"
	wait "$HOLDER" || :
}

refuses() {
	! in_ns "$A" ibv_devinfo >/dev/null 2>&1
}

@test "a core whose namespace has lost its name is found by it" {
	local name=$A-x

	ip netns add "$name"
	ip -n "$name" link set lo up
	ip netns exec "$name" "$BIN/ofedctrl" -l 3>&-
	ip netns del "$name"
	[[ $("$BIN/ofedctrl" -q -N "$name") == *": loaded"* ]]
	"$BIN/ofedctrl" -N "$name" -p delay_kill=77
	[[ $("$BIN/ofedctrl" -q -N "$name") == *"delay_kill            : 77"* ]]
	[[ $("$BIN/ofedctrl" -q -N "$(readlink "$OFED_CORE_RUNDIR/$name")") == *": 77"* ]]
	[ "$("$BIN/ofedctrl" -N "$name" -u -n)" = "no program uses ofed_core" ]
	"$BIN/ofedctrl" -N "$name" -u
	[[ $("$BIN/ofedctrl" -q -N "$name") == *"not loaded"* ]]
	[ ! -L "$OFED_CORE_RUNDIR/$name" ]
	run -1 "$BIN/ofedctrl" -N "$name" -u
	[[ $output == *"ofed_core is not loaded"* ]]
	# The other one is still there.
	[[ $(ofedctl -q) == *": loaded"* ]]
	for name in "" . a/b; do
		run -1 "$BIN/ofedctrl" -q -N "$name"
		[[ $output == "Usage: "* ]]
	done
	run -1 "$BIN/ofedctrl" -l -N x
	[[ $output == "Usage: "* ]]
}

@test "-p holds until the core is loaded again or the file is read, -c reads it" {
	printf 'delay_kill=400\n' >"$OFED_CONF"
	ofedctl -c
	[[ $(ofedctl -q) == *"delay_kill            : 400"* ]]
	ofedctl -p delay_kill=500
	[[ $(ofedctl -q) == *"delay_kill            : 500"* ]]
	[ "$(cat "$OFED_CONF")" = "delay_kill=400" ]
	ofedctl -c
	[[ $(ofedctl -q) == *"delay_kill            : 400"* ]]
	ofedctl -p delay_kill=500
	ofedctl -u
	ofedctl -l
	[[ $(ofedctl -q) == *"delay_kill            : 400"* ]]
	echo nonsense=1 >"$OFED_CONF"
	run -1 ofedctl -c
	[[ $(ofedctl -q) == *"delay_kill            : 400"* ]]
}

# What roce_v2_mode does not allow is marked.
allowed_gids() {
	ip netns exec "$A" "$BIN/ibv_devinfo" -e | grep -v "(off)"
}

@test "no -r -o roce_v2_mode counts from the next load on" {
	run -0 allowed_gids
	[[ $output == *RoCEv1* ]]
	[[ $output != *RoCEv2* ]]
	no -r -o roce_v2_mode=1
	[ "$(no -o roce_v2_mode)" = "roce_v2_mode = 0" ]
	run -0 allowed_gids
	[[ $output != *RoCEv2* ]]
	ofedctl -u
	ofedctl -l
	[ "$(no -o roce_v2_mode)" = "roce_v2_mode = 1" ]
	run -0 allowed_gids
	[[ $output == *RoCEv2* ]]
	[[ $output != *RoCEv1* ]]
}
