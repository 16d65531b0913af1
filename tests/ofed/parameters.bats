#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# parameters: each line of ofed.conf changes what the core does.
# delay_kill and delay_between_signals: unload.bats; mcast_leave_retries and
# mad_rcvq_size: the unit tests ofed_mcast and ofed_cm_queue.
# limit: 300

bats_require_minimum_version 1.5.0
load net

# Without core a host answers with errors of IP that quote the packet.
REQ="infiniband.mad.attributeid == 0x0010 && !icmp"
DREQ="infiniband.mad.attributeid == 0x0015"

suite_needs() {
	if ! command -v tshark >/dev/null; then
		echo "tshark is missing"
	fi
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	: >"$OFED_CONF"
	start_both
}

teardown() {
	[ -n "$WHY" ] || {
		[ -z "${SERVER_PID-}" ] || end_server
		core_is_gone "$A" || stop_core "$A"
		core_is_gone "$B" || stop_core "$B"
	}
}

set_it() { # namespace, name, value
	[ "$(ask "$1" "set $2 $3")" = ok ]
}

core_pid() { # namespace
	ask "$1" ping | sed -n 's/^=pid //p'
}

@test "tavor_quirk limits the MTU" {
	ip -n "$A" link set ent0 mtu 9000
	wait_for mtu_is 4096
	set_it "$A" tavor_quirk 1
	mtu_is 1024
	set_it "$A" tavor_quirk 0
	mtu_is 4096
	ip -n "$A" link set ent0 mtu 1500
	wait_for mtu_is 1024
}

mtu_is() { # bytes
	in_ns "$A" ibv_devinfo | grep -q "active_mtu:		$1 "
}

@test "cma_response_timeout, cm_connect_max_retry, def_prec2sl are in a request" {
	set_it "$B" cma_response_timeout 17
	set_it "$B" cm_connect_max_retry 9
	set_it "$B" def_prec2sl 5
	begin_server rping -s -P -a "$SERVER"
	capture_begin "$A" ent0
	in_ns "$B" rping -c -a "$SERVER" -C 1
	capture_end
	[ "$(captured "$REQ" infiniband.cm.req.remoteresptout \
		infiniband.cm.req.localresptout infiniband.cm.req.maxcmretr \
		infiniband.cm.req.prim_sl)" = \
		"0x11	0x11	0x09	0x05" ]
}

@test "def_prec2sl is the priority in the tag of a VLAN" {
	local n

	ip -n "$A" link add link ent0 name ent0.8 type vlan id 8 ||
		skip "the kernel has no VLANs"
	ip -n "$A" link del ent0.8
	for n in "$A" "$B"; do
		ip -n "$n" link add link ent0 name ent0.7 type vlan id 7 \
			egress-qos-map 4:6
		ip -n "$n" addr add "10.79.0.$([ "$n" = "$A" ] && echo 1 || echo 2)/24" \
			dev ent0.7
		ip -n "$n" link set ent0.7 up
		wait_for has_device "$n" ent0.7
	done
	set_it "$B" def_prec2sl 4
	begin_server rping -s -P -a 10.79.0.1
	capture_begin "$A" ent0
	in_ns "$B" rping -c -a 10.79.0.1 -C 3 -V
	capture_end
	for n in "$A" "$B"; do
		ip -n "$n" link del ent0.7
	done
	# Both sides: the request tells the other which to use.
	[ "$(captured infiniband vlan.priority | sort -u)" = 6 ]
	[ "$(captured infiniband ip.src | sort -u | wc -l)" = 2 ]
}

has_device() { # namespace, interface
	ask "$1" devices | grep -q "^=[^ ]* $2 ACTIVE"
}

@test "cm_connect_timeout and cm_connect_max_retry repeat a request" {
	set_it "$B" cm_connect_timeout 400
	set_it "$B" cm_connect_max_retry 3
	stop_core "$A"
	capture_begin "$A" ent0
	run ! in_ns "$B" rping -c -a "$SERVER" -C 1
	[[ $output == *UNREACHABLE* ]]
	capture_end
	[ "$(captured "$REQ" frame.number | wc -l)" = 4 ]
	# All of the three times: one that begins late takes it off the next.
	captured "$REQ" frame.time_delta_displayed | tail -n 3 |
		awk '{ sum += $1 } END { exit sum < 0.9 }'
}

@test "cm_disconnect_timeout and cm_disconnect_max_retry repeat a disconnect" {
	local client stopped

	set_it "$B" cm_disconnect_timeout 60
	set_it "$B" cm_disconnect_max_retry 4
	begin_server rping -s -P -a "$SERVER"
	in_ns "$B" rping -c -a "$SERVER" -C 100000000 >/dev/null 2>&1 3>&- &
	wait_for talks "$B"
	stopped=$(core_pid "$A")
	client=$(ask "$B" clients | sed -n 's/^=\([0-9]*\) .*/\1/p')
	capture_begin "$A" ent0
	kill -STOP "$stopped"
	kill -KILL "$client"
	wait_for has_captured 5 "$DREQ && ip.src == 10.77.0.2" ip.src
	# None after that, for as long as three would take.
	sleep 0.3
	capture_end
	kill -CONT "$stopped"
	[ "$(captured "$DREQ" ip.src | grep -c 10.77.0.2)" = 5 ]
}

has_captured() { # number, filter, field
	[ "$(captured "$2" "$3" | wc -l)" -ge "$1" ]
}

talks() { # namespace
	[ "$(statistic "$1" packets_sent)" -gt 100 ]
}

# How often an answer comes within a second after the first, to a request that
# asks for four, 4.3 s apart, and that nobody confirms.
answers() { # id of the request
	peer "$1" <<-'EOT'
		import sys
		import roce
		p = roce.Peer("10.77.0.2", "10.77.0.1")
		p.send(roce.cm_req("10.77.0.2", "10.77.0.1", 7174,
		                   comm_id=int(sys.argv[1]), timeout=20, retries=3))
		print(sum(roce.cm_kind(t) == 0x13 for t in p.receive(1, 10)))
	EOT
}

@test "max_timeout is the most that a peer gets" {
	need python3
	stop_core "$B"
	begin_server rping -s -P -a "$SERVER"
	[ "$(answers 77)" = 1 ]
	set_it "$A" max_timeout 12
	[ "$(answers 78)" = 4 ]
}

@test "mad_sendq_size bounds the requests under way" {
	local pid stopped

	set_it "$B" mad_sendq_size 16
	begin_server cmtime -b "$SERVER" -c 40
	stopped=$(core_pid "$A")
	capture_begin "$A" ent0
	kill -STOP "$stopped"
	in_ns "$B" cmtime -s "$SERVER" -c 40 >/dev/null 2>&1 3>&- &
	pid=$!
	wait_for has_pairs "$B" 40
	wait_for has_captured_pairs 16
	sleep 0.5
	capture_end
	kill -CONT "$stopped"
	# As many as may wait; the others connect all the same.
	[ "$(captured "$REQ" infiniband.cm.req.localqpn | sort -u | wc -l)" = 16 ]
	wait "$pid"
}

has_captured_pairs() { # number
	[ "$(captured "$REQ" infiniband.cm.req.localqpn | sort -u |
		wc -l)" -ge "$1" ]
}

has_pairs() { # namespace, number
	[ "$(statistic "$1" queue_pairs)" = "$2" ]
}

# Is the port free for TCP?
tcp_takes() { # port
	# shellcheck disable=SC2016
	ip netns exec "$A" perl -MSocket -e '
		socket(my $s, AF_INET, SOCK_STREAM, 0) or die;
		exit !bind($s, sockaddr_in($ARGV[0], INADDR_ANY))' "$1"
}

@test "unify_tcp_port_space takes the TCP port too" {
	begin_server rping -s -P -a "$SERVER" -p 20123
	tcp_takes 20123
	end_server
	set_it "$A" unify_tcp_port_space 1
	begin_server rping -s -P -a "$SERVER" -p 20123
	run ! tcp_takes 20123
	end_server
	# And it is not given while TCP has it.
	# shellcheck disable=SC2016
	ip netns exec "$A" perl -MSocket -e '
		socket(my $s, AF_INET, SOCK_STREAM, 0) or die;
		bind($s, sockaddr_in(20123, INADDR_ANY)) && listen($s, 1)
			or die; sleep 20' 3>&- &
	pid=$!
	wait_for listens "$A"
	run ! in_ns "$A" rping -s -a "$SERVER" -p 20123
	kill "$pid"
	[[ $output == *"Address already in use"* ]]
}

@test "bind_route_interface lets a bound address choose the interface" {
	local n

	ip link add ent1 netns "$A" type veth peer name ent1 netns "$B"
	for n in "$A" "$B"; do
		ip -n "$n" addr add "10.78.0.$([ "$n" = "$A" ] && echo 1 || echo 2)/24" \
			dev ent1
		ip -n "$n" link set ent1 up
	done
	wait_for has_device "$A" ent1
	wait_for has_device "$B" ent1
	begin_server rping -s -P -a "$SERVER"
	set_it "$B" cm_connect_timeout 500
	set_it "$B" cm_connect_max_retry 3
	capture_begin "$A" ent1
	in_ns "$B" rping -c -a "$SERVER" -I 10.78.0.2 -C 1
	capture_end
	[ -z "$(captured "$REQ" ip.src)" ]
	set_it "$B" bind_route_interface 1
	capture_begin "$A" ent1
	# Whether the way back is the same is up to the other side.
	in_ns "$B" rping -c -a "$SERVER" -I 10.78.0.2 -C 1 || :
	capture_end
	ip -n "$A" link del ent1
	[ "$(captured "$REQ" ip.src | sort -u)" = 10.78.0.2 ]
}

@test "enforce_interface_state refuses what leaves by a link that is down" {
	begin_server rping -s -P -a "$SERVER"
	ip -n "$B" link set ent0 down
	wait_for is_down "$A"
	# This host still reaches itself.
	in_ns "$A" rping -c -a "$SERVER" -C 1
	set_it "$A" enforce_interface_state 1
	run ! in_ns "$A" rping -c -a "$SERVER" -C 1
	ip -n "$B" link set ent0 up
	ip -n "$B" addr add fd77::2/64 dev ent0 nodad
	ip -n "$B" route replace 224.0.0.0/4 dev ent0
	wait_for has_device "$A" ent0
	in_ns "$A" rping -c -a "$SERVER" -C 1
}

is_down() { # namespace
	ask "$1" devices | grep -q DOWN
}

# A core that says on standard error what it logs: $BATS_TEST_TMPDIR/log.
start_talking() { # namespace
	stop_core "$1"
	ip netns exec "$1" "$BIN/ofed_core" -f 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	wait_for core_is_there "$1"
}

core_is_there() { # namespace
	! core_is_gone "$1"
}

@test "ras_log_level chooses what is logged" {
	start_talking "$A"
	in_ns "$A" ibv_devinfo >/dev/null
	cat "$BATS_TEST_TMPDIR/log"
	[ ! -s "$BATS_TEST_TMPDIR/log" ]
	set_it "$A" ras_log_level 3
	in_ns "$A" ibv_devinfo >/dev/null
	wait_for grep -q "client .* has gone" "$BATS_TEST_TMPDIR/log"
}
