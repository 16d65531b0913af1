#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# core: loading, settings, unloading; programs that die, and bad neighbours.
# limit: 200

bats_require_minimum_version 1.5.0
load net

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	: >"$OFED_CONF"
	start_both
}

teardown() {
	[ -n "$WHY" ] || {
		core_is_gone "$A" || stop_core "$A"
		core_is_gone "$B" || stop_core "$B"
	}
}

@test "a second core in a namespace is refused" {
	run -1 start_core "$A"
	[[ $output == *"already loaded"* ]]
	run -0 ask "$A" ping
	[[ $output == *ok ]]
}

@test "settings are shown, changed and read again" {
	[[ $(ask "$A" query) == *"=delay_kill 10000"* ]]
	[ "$(ask "$A" "set delay_kill 5")" = ok ]
	[[ $(ask "$A" query) == *"=delay_kill 5"* ]]
	[[ $(ask "$A" "set delay_kill -1") == "error 34 "* ]]
	[[ $(ask "$A" "set nonsense 1") == "error 2 "* ]]
	echo "max_timeout=nonsense" >"$OFED_CONF"
	[[ $(ask "$A" reload) == "error 22 "*"line 1"* ]]
	[[ $(ask "$A" query) == *"=delay_kill 5"* ]]
	echo "max_timeout=18" >"$OFED_CONF"
	[ "$(ask "$A" reload)" = ok ]
	[[ $(ask "$A" query) == *"=max_timeout 18"* ]]
	[[ $(ask "$A" query) == *"=delay_kill 10000"* ]]
}

@test "the device follows its interface" {
	[[ $(ask "$A" devices) == *"=ent0 ent0 ACTIVE 1024"* ]]
	ip -n "$A" link set ent0 mtu 9000
	wait_for device_is "$A" "ent0 ent0 ACTIVE 4096"
	ip -n "$A" link set ent0 mtu 1500
	ip -n "$B" link set ent0 down
	wait_for device_is "$A" "ent0 ent0 DOWN 1024"
	ip -n "$B" link set ent0 up
	wait_for device_is "$A" "ent0 ent0 ACTIVE 1024"
	ip -n "$A" addr add 10.77.9.9/24 dev ent0
	wait_for has_gid "$A" 10.77.9.9
	ip -n "$A" addr del 10.77.9.9/24 dev ent0
	ip -n "$B" addr add fd77::2/64 dev ent0 nodad 2>/dev/null || :
	ip -n "$B" route replace 224.0.0.0/4 dev ent0
}

device_is() { # namespace, line
	ask "$1" devices | grep -qx "=$2"
}

has_gid() { # namespace, address
	in_ns "$1" ibv_devinfo -v | grep -q "::ffff:$2"
}

is_idle() { # namespace
	[ "$(statistic "$1" queue_pairs)" = 0 ]
}

is_busy() { # namespace
	[ "$(statistic "$1" queue_pairs)" != 0 ]
}

@test "what a killed program held is free at once" {
	local taker client

	in_ns "$A" ibv_rc_pingpong -g 1 -n 100000000 -e >/dev/null 3>&- &
	wait_for listens "$A" $!
	in_ns "$B" ibv_rc_pingpong -g 1 -n 100000000 -e "$SERVER" \
		>/dev/null 3>&- &
	wait_for is_busy "$A"
	wait_for is_busy "$B"
	client=$(ask "$B" clients | sed -n 's/^=\([0-9]*\) .*/\1/p')
	taker=$(ask "$A" clients | sed -n 's/^=\([0-9]*\) .*/\1/p')
	kill -KILL "$client"
	wait_for is_idle "$B"
	# It may have ended already: its peer's memory has gone.
	kill -KILL "$taker" 2>/dev/null || :
	wait_for is_idle "$A"
	wait || :
	same "$B" "ibv_rc_pingpong -g 1 -n 10 -e"
}

@test "the other side of a killed rdma_cm program hears of it" {
	local pid

	in_ns "$A" rping -s -a "$SERVER" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	pid=$!
	wait_for listens "$A" "$pid"
	in_ns "$B" rping -c -a "$SERVER" >/dev/null 2>&1 3>&- &
	wait_for is_busy "$B"
	kill -KILL "$(ask "$B" clients | sed -n 's/^=\([0-9]*\) .*/\1/p')"
	wait "$pid" || :
	# The event, or before it a request to memory that has gone.
	grep -Eq 'DISCONNECT|completion failed' "$BATS_TEST_TMPDIR/out"
	wait_for is_idle "$A"
}

@test "unloading ends programs that do not go by themselves" {
	local pid

	in_ns "$A" rping -s -a "$SERVER" >/dev/null 2>&1 3>&- &
	pid=$!
	wait_for listens "$A" "$pid"
	stop_core "$A"
	run ! wait "$pid"
	run ! in_ns "$A" ibv_devinfo
}

@test "foreign bytes on the sockets and the port change nothing" {


	# shellcheck disable=SC2016
	ip netns exec "$A" perl -MSocket -e '
		my $inode = (stat "/proc/self/ns/net")[1];
		my $path = "$ENV{OFED_CORE_RUNDIR}/net-$inode/verbs";
		srand(1);
		for (1 .. 200) {
			socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die;
			connect($s, sockaddr_un($path)) or die "connect: $!";
			for (1 .. 20) {
				send($s, join("", map { chr(int(rand(256))) }
					1 .. int(rand(300))), MSG_NOSIGNAL);
				my $kind = int(rand(8));
				send($s, pack("VVQVV", $kind, int(rand(9)), 3,
					16, 0) . pack("VvvQ", int(rand(60)), 4,
					4, 0), MSG_NOSIGNAL);
			}
		}'
	# shellcheck disable=SC2016
	ip netns exec "$B" perl -MSocket -e '
		socket(my $s, AF_INET, SOCK_DGRAM, 0) or die;
		my $to = sockaddr_in(4791, inet_aton($ARGV[0]));
		srand(2);
		for (1 .. 2000) {
			send($s, join("", map { chr(int(rand(256))) }
				1 .. int(rand(400))), 0, $to);
		}' "$SERVER"
	[ "$(statistic "$A" packets_bad_icrc)" -gt 500 ]
	is_idle "$A"
	same "$B" "ibv_rc_pingpong -g 1 -n 100 -c -e"
}

raw_sockets() { # namespace
	ip netns exec "$1" awk 'FNR > 1' /proc/net/raw | wc -l
}

@test "packets may have any identification, and their ICRC is checked then too" {
	local bad

	stop_core "$B"
	[ "$(raw_sockets "$A")" = 0 ]
	peer <<-'EOT'
		import roce
		p = roce.Peer("10.77.0.2", "10.77.0.1")
		assert roce.answers(p, 1, 0, 0x4000, 1 << 9) == []
		assert roce.answers(p, 2, 0, 0x4000) == [0x12]
	EOT
	[ "$(raw_sockets "$A")" = 0 ]
	bad=$(statistic "$A" packets_bad_icrc)
	peer <<-'EOT'
		import roce
		p = roce.Peer("10.77.0.2", "10.77.0.1")
		# Not yet known of, and nothing fits.
		assert roce.answers(p, 3, 0x1234, 0x4000, 1 << 9) == []
		assert roce.answers(p, 4, 0x1234, 0x4000) == [0x12]
		assert roce.answers(p, 5, 0x1234, 0x4000, 1 << 31) == []
		assert roce.answers(p, 6, 0xffff, 0) == [0x12]
		assert roce.answers(p, 7, 0x4321, 0, 1) == []
		assert roce.answers(p, 8, 0, 0x4000, 1) == []
		assert roce.answers(p, 9, 0, 0x4000) == [0x12]
	EOT
	[ "$(raw_sockets "$A")" -gt 0 ]
	[ $(($(statistic "$A" packets_bad_icrc) - bad)) = 4 ]
	start_core "$B"
	same "$B" "ibv_rc_pingpong -g 1 -n 100 -c -e"
}

# A connection that sends some hundred packets, and how many of those of $B went
# past the IP stack.
frames_of_a_connection() {
	local before after

	before=$(statistic "$B" packets_sent_as_frames)
	same "$B" "ibv_rc_pingpong -g 1 -n 300 -e"
	after=$(statistic "$B" packets_sent_as_frames)
	frames=$((after - before))
}

has_sent_no_frame() {
	frames_of_a_connection
	[ "$frames" = 0 ]
}

@test "packets go past the IP stack only where no rules wait for them" {
	frames_of_a_connection
	[ "$frames" -gt 100 ]
	ip -n "$B" xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir out
	# Looked at again every second.
	wait_for has_sent_no_frame
	ip -n "$B" xfrm policy flush
	if command -v nft >/dev/null; then
		ip netns exec "$B" nft add table inet some
		wait_for has_sent_no_frame
		ip netns exec "$B" nft delete table inet some
	fi
}

@test "the core comes before other programs, unless somebody has decided" {
	local pid own

	own=$(nice)
	if [ "$own" = 0 ] && [ "$(nice -n -10 nice 2>/dev/null)" = -10 ]; then
		own=-10
	fi
	pid=$(ask "$A" ping | sed -n 's/^=pid //p')
	[ "$(threads_nice "$pid")" = "$own" ]
	stop_core "$A"
	own=$(nice -n 5 nice)
	nice -n 5 ip netns exec "$A" "$BIN/ofed_core"
	pid=$(ask "$A" ping | sed -n 's/^=pid //p')
	[ "$(threads_nice "$pid")" = "$own" ]
}

threads_nice() { # pid: the values of its threads, each once
	ps -L -o ni= -p "$1" | tr -d ' ' | sort -u
}

@test "an idle core sleeps" {
	local pid before after

	in_ns "$A" rping -s -a "$SERVER" >/dev/null 2>&1 3>&- &
	wait_for listens "$A" $!
	pid=$(ask "$A" ping | sed -n 's/^=pid //p')
	before=$(switches "$pid")
	sleep 1
	after=$(switches "$pid")
	# Asking costs a few; a loop would cost thousands.
	[ $((after - before)) -lt 50 ]
}

switches() { # pid: how often its threads gave up the processor
	cat /proc/"$1"/task/*/status |
		awk '/ctxt_switches/ { n += $2 } END { print n }'
}
