#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# devices: several interfaces; ones that come and go, fail and return, change
# their addresses and names; and what the other side of a dead program gets.
# limit: 300

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	start_both
}

teardown() {
	[ -n "$WHY" ] || {
		[ -z "${SERVER_PID-}" ] || end_server
		ip -n "$A" link del ent1 2>/dev/null || :
		wait_for has_no_device "$A" ent1
		wait_for has_no_device "$B" ent1
	}
}

# ent1 in both, 10.78.0.1 and .2; the devices are there when it returns.
second_interface() {
	ip link add ent1 netns "$A" type veth peer name ent1 netns "$B"
	ip -n "$A" addr add 10.78.0.1/24 dev ent1
	ip -n "$B" addr add 10.78.0.2/24 dev ent1
	for n in "$A" "$B"; do
		ip netns exec "$n" sysctl -qw net.ipv6.conf.ent1.accept_dad=0
		ip -n "$n" link set ent1 up
	done
	for n in "$A" "$B"; do
		wait_for has_gid "$n" ent1 78
	done
}

has_device() { # namespace, interface
	ask "$1" devices | grep -q "^=[^ ]* $2 ACTIVE"
}

has_no_device() { # namespace, interface
	! ask "$1" devices | grep -q "^=[^ ]* $2 "
}

# The place of the IPv4 address in the device's table; fails when it has none.
gid_of() { # namespace, device, second byte of the address
	in_ns "$1" ibv_devinfo -v -d "$2" |
		sed -n "s/.*GID\[ *\([0-9]*\)\].*::ffff:10\.$3\..*/\1/p" | grep .
}

has_gid() { # namespace, device, second byte
	gid_of "$@" >/dev/null 2>&1
}

received() { # namespace, interface
	ip netns exec "$1" cat "/sys/class/net/$2/statistics/rx_packets"
}

has_received() { # namespace, interface, packets
	[ "$(received "$1" "$2")" -gt "$3" ]
}

# Watches the events of a device in $A: their names are in $BATS_TEST_TMPDIR/NAME.
watch() { # device, name
	timeout -k 5 290 ip netns exec "$A" "$BIN/ofed_run" stdbuf -oL \
		ibv_asyncwatch -d "$1" >"$BATS_TEST_TMPDIR/$2" 2>&1 3>&- &
	WATCHER=$!
	wait_for grep -q "async event FD" "$BATS_TEST_TMPDIR/$2"
}

events() { # name
	sed -n 's/.*event_type \([A-Z_]*\).*/\1/p' "$BATS_TEST_TMPDIR/$1" |
		tr '\n' ' '
}

@test "two interfaces are two devices, and each carries its own packets" {
	local gid before

	second_interface
	run -0 in_ns "$A" ibv_devices
	[[ $output == *ent0*ent1* ]]
	gid=$(gid_of "$A" ent1 78)
	before=$(received "$A" ent0)
	same "$B" "ibv_rc_pingpong -d ent1 -g $gid -n 500 -c -e"
	[ $(($(received "$A" ent1) - 500)) -gt 500 ]
	[ $(($(received "$A" ent0) - before)) -lt 200 ]
	# With rdma_cm the address chooses.
	pair "$B" "rping -s -a 10.78.0.1 -C 20 -V" "rping -c -a 10.78.0.1 -C 20 -V"
	same "$B" "ibv_rc_pingpong -d ent0 -g 1 -n 100 -c -e"
	# From one device of a host to the other.
	pair "$A" "rping -s -a 10.78.0.1 -C 20 -V" \
		"rping -c -a 10.78.0.1 -I 10.77.0.1 -C 20 -V"
}

@test "each namespace has a core of its own, with its own devices" {
	ip link add ent7 netns "$B" type veth peer name other netns "$B"
	ip -n "$B" link set ent7 up
	ip -n "$B" link set other up
	wait_for has_device "$B" ent7
	has_no_device "$A" ent7
	[ "$(ask "$A" ping)" != "$(ask "$B" ping)" ]
	run ! in_ns "$A" ibv_devinfo -d ent7
	run -0 in_ns "$B" ibv_devinfo -d ent7
	ip -n "$B" link del ent7
	wait_for has_no_device "$B" ent7
}

@test "events: link down and up, addresses that come and go" {
	second_interface
	watch ent0 zero
	local zero=$WATCHER
	watch ent1 one
	ip -n "$B" link set ent1 down
	wait_for grep -q PORT_ERR "$BATS_TEST_TMPDIR/one"
	ip -n "$B" link set ent1 up
	wait_for grep -q PORT_ACTIVE "$BATS_TEST_TMPDIR/one"
	ip -n "$A" addr add 10.78.9.9/24 dev ent1
	wait_for grep -q GID_CHANGE "$BATS_TEST_TMPDIR/one"
	run -0 in_ns "$A" ibv_devinfo -v -d ent1
	[[ $output == *"::ffff:10.78.9.9"* ]]
	ip -n "$A" addr del 10.78.9.9/24 dev ent1
	wait_for has_events one 2 GID_CHANGE
	# The other port had nothing to do with it.
	[ -z "$(events zero)" ]
	kill "$WATCHER" "$zero"
	wait "$WATCHER" "$zero" || :
}

has_events() { # name, at least, kind
	[ "$(grep -c "$3" "$BATS_TEST_TMPDIR/$1")" -ge "$2" ]
}

@test "places of addresses stay when others go" {
	local gid

	second_interface
	ip -n "$A" addr add 10.79.0.1/24 dev ent1
	wait_for has_gid "$A" ent1 79
	gid=$(gid_of "$A" ent1 79)
	ip -n "$A" addr del 10.78.0.1/24 dev ent1
	wait_for has_no_gid "$A" ent1 78
	[ "$(gid_of "$A" ent1 79)" = "$gid" ]
	# The place that became free is the next to be taken.
	ip -n "$A" addr add 10.78.0.1/24 dev ent1
	wait_for has_gid "$A" ent1 78
	[ "$(gid_of "$A" ent1 79)" = "$gid" ]
}

has_no_gid() { # namespace, device, second byte
	! has_gid "$@"
}

@test "a connection survives a link that is down for a moment" {
	local client

	begin_server rping -s -P -a "$SERVER"
	in_ns "$B" rping -c -a "$SERVER" -C 100000000 -V \
		>"$BATS_TEST_TMPDIR/client" 2>&1 3>&- &
	client=$!
	wait_for pings_go_on
	ip -n "$A" link set ent0 down
	sleep 0.3
	kill -0 "$client"
	ip -n "$A" link set ent0 up
	ip -n "$A" addr add fd77::1/64 dev ent0 nodad 2>/dev/null || :
	ip -n "$A" route replace 224.0.0.0/4 dev ent0
	wait_for pings_go_on
	kill -0 "$client"
	cat "$BATS_TEST_TMPDIR/client"
	[ ! -s "$BATS_TEST_TMPDIR/client" ]
	kill "$client"
	wait "$client" || :
}

# More than what is sent again while nothing comes back.
pings_go_on() {
	local before

	before=$(statistic "$A" packets_sent)
	wait_for has_sent "$A" $((before + 200))
}

has_sent() { # namespace, packets
	[ "$(statistic "$1" packets_sent)" -gt "$2" ]
}

@test "an interface that goes takes its device along, and nothing else" {
	local other

	second_interface
	watch ent1 one
	local one=$WATCHER
	watch ent0 zero
	local zero=$WATCHER
	begin_server rping -s -P -a "$SERVER"
	in_ns "$B" rping -c -a "$SERVER" -C 600 -V >"$BATS_TEST_TMPDIR/ping" \
		2>&1 3>&- &
	other=$!
	# Busy on the device that goes.
	in_ns "$A" ibv_rc_pingpong -d ent1 -g "$(gid_of "$A" ent1 78)" \
		-n 100000000 -e >"$BATS_TEST_TMPDIR/a" 2>&1 3>&- &
	local a=$!
	wait_for listens_at "$A" 18515
	in_ns "$B" ibv_rc_pingpong -d ent1 -g "$(gid_of "$B" ent1 78)" \
		-n 100000000 -e 10.78.0.1 >"$BATS_TEST_TMPDIR/b" 2>&1 3>&- &
	local b=$!
	wait_for has_received "$A" ent1 500
	ip -n "$A" link del ent1
	wait_for grep -q DEVICE_FATAL "$BATS_TEST_TMPDIR/one"
	wait "$a" "$b" || :
	grep -q "Failed status\|Flushed" "$BATS_TEST_TMPDIR/a"
	grep -q "Failed status\|Flushed" "$BATS_TEST_TMPDIR/b"
	wait_for has_no_device "$A" ent1
	run ! in_ns "$A" ibv_devinfo -d ent1
	wait "$other"
	[ -z "$(events zero)" ]
	kill "$one" "$zero"
	wait "$one" "$zero" || :
}

listens_at() { # namespace, TCP port
	ip netns exec "$1" ss -Hltn "sport = :$2" | grep -q .
}

@test "one that comes again is a device again, also while the old one is held" {
	local i n holder

	second_interface
	watch ent1 one
	holder=$WATCHER
	for i in 1 2; do
		ip -n "$A" link del ent1
		wait_for has_no_device "$A" ent1
		wait_for has_no_device "$B" ent1
		second_interface
		same "$B" "ibv_rc_pingpong -d ent1 -g $(gid_of "$A" ent1 78) \
			-n 50 -c -e"
	done
	# More than there are places for have come and gone.
	for i in 1 2; do
		for n in 1 2 3 4 5; do
			ip -n "$A" link add "ent9$n" type veth peer name "other$n"
		done
		wait_for has_any_device "$A" other5
		for n in 1 2 3 4 5; do
			ip -n "$A" link del "ent9$n"
		done
		wait_for has_no_device "$A" ent95
	done
	kill "$holder"
	wait "$holder" || :
}

has_any_device() { # namespace, interface
	ask "$1" devices | grep -q "^=[^ ]* $2 "
}

@test "an interface that gets another name keeps its device" {
	second_interface
	ip -n "$A" link set ent1 down
	ip -n "$A" link set ent1 name renamed
	ip -n "$A" link set renamed up
	wait_for is_called "ent1 renamed ACTIVE"
	same "$B" "ibv_rc_pingpong -d ent1 -g $(gid_of "$A" ent1 78) -n 50 -c -e"
	ip -n "$A" link set renamed down
	ip -n "$A" link set renamed name ent1
}

is_called() { # line
	ask "$A" devices | grep -q "^=$1"
}

@test "who writes to a program that is killed gets an error in due time" {
	need ib_write_bw
	local n

	for n in "$A" "$B"; do
		begin_victim ib_write_bw -x 1 -D 30 -s 65536
		run in_ns "$n" ib_write_bw -x 1 -D 30 -s 65536 "$SERVER"
		echo "$output"
		[ "$status" != 0 ]
		# Retries exceeded, or what was addressed has gone.
		[[ $output == *"status 12"* || $output == *"status 10"* ||
			$output == *"status 5"* ]]
		wait "$KILLER"
	done
}

# A server that is killed a second after its client has come.
begin_victim() { # command...
	local pid

	timeout -k 5 60 ip netns exec "$A" "$BIN/ofed_run" "$@" \
		>/dev/null 2>&1 3>&- &
	pid=$!
	wait_for listens "$A"
	(
		wait_for moves
		sleep 1
		# ip and ofed_run have become the program.
		pkill -KILL -P "$pid"
	) 3>&- &
	KILLER=$!
}

moves() {
	[ "$(statistic "$A" queue_pairs)" -gt 1 ] ||
		[ "$(statistic "$B" queue_pairs)" -gt 0 ]
}

@test "programs that die at random moments leave nothing behind" {
	local i n rounds=4

	[ -z "${SMC_R_LONG-}" ] || rounds=20
	for ((i = 0; i < rounds; i++)); do
		echo "round $i"
		for n in "$A" "$B"; do
			in_ns "$A" rping -s -a "$SERVER" -S 5000 >/dev/null \
				2>&1 3>&- &
			wait_for listens "$A"
			timeout -s KILL "0.$((RANDOM % 8 + 1))" ip netns exec \
				"$n" "$BIN/ofed_run" rping -c -a "$SERVER" -S 5000 \
				>/dev/null 2>&1 3>&- || :
			ask "$A" clients | sed -n 's/^=\([0-9]*\) .*/\1/p' |
				xargs -r kill -KILL 2>/dev/null || :
			wait || :
			wait_for is_empty "$A"
			wait_for is_empty "$B"
		done
	done
	pair "$B" "rping -s -a $SERVER -C 5 -V" "rping -c -a $SERVER -C 5 -V"
}

is_empty() { # namespace
	[ "$(ask "$1" clients)" = ok ] &&
		[ "$(statistic "$1" queue_pairs)" = 0 ] &&
		[ "$(ask "$1" listeners)" = ok ]
}

@test "nothing runs while nothing happens, whatever is open" {
	local n pids=()

	begin_server rping -s -P -a "$SERVER"
	in_ns "$B" rping -c -a "$SERVER" -C 1000000000 >/dev/null 2>&1 3>&- &
	local client=$!
	wait_for is_moving
	kill -STOP "$(ask "$B" clients | sed -n 's/^=\([0-9]*\) .*/\1/p')"
	for n in "$A" "$B"; do
		pids+=("$(ask "$n" ping | sed -n 's/^=pid //p')")
	done
	# What ends, and what the host's interfaces say of themselves, wakes a
	# core, too; but not for ever.
	rests "${pids[@]}" || rests "${pids[@]}" || rests "${pids[@]}"
	kill -CONT "$(ask "$B" clients | sed -n 's/^=\([0-9]*\) .*/\1/p')"
	kill "$client"
	wait "$client" || :
}

is_moving() {
	local before

	before=$(statistic "$B" packets_sent)
	sleep 0.1
	[ "$(statistic "$B" packets_sent)" -gt $((before + 10)) ]
}

rests() { # pid...: for three seconds
	local before after

	before=$(switches "$@")
	sleep 3
	after=$(switches "$@")
	echo "$before $after"
	[ $((after - before)) -le 6 ]
}

switches() { # pid...: how often their threads gave up the processor
	local pid

	for pid; do
		cat /proc/"$pid"/task/*/status
	done | awk '/ctxt_switches/ { n += $2 } END { print n }'
}
