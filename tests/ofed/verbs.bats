#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# verbs: unmodified verbs programs over the core, within one host and between
# two network namespaces.
# limit: 300

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	start_both
}

# In both namespaces: $A reaches itself, $B reaches $A over the wire.
each() { # function, arguments...
	local how=$1

	shift
	"$how" "$A" "$@"
	"$how" "$B" "$@"
}

@test "the device has the interface's name and the attributes of its port" {
	run -0 in_ns "$A" ibv_devices
	[[ $output == *ent0* ]]
	run -0 in_ns "$A" ibv_devinfo -v
	[[ $output == *"PORT_ACTIVE (4)"* ]]
	[[ $output == *"active_mtu:		1024 (3)"* ]]
	[[ $output == *"::ffff:10.77.0.1, RoCE v2"* ]]
	[[ $output == *"fd77::1, RoCE v2"* ]]
}

@test "without the shim there is no device" {
	run -255 ip netns exec "$A" /usr/bin/ibv_devinfo
}

@test "RC ping-pong, polling and by events, over IPv4 and IPv6" {
	# Two that never sleep: each message waits for a processor.
	each same "ibv_rc_pingpong -g 1 -n 100 -c"
	each same "ibv_rc_pingpong -g 1 -n 300 -c -e"
	each same "ibv_rc_pingpong -g 0 -n 300 -c -e"
	each same "ibv_rc_pingpong -g 2 -n 300 -c -e"
}

@test "long messages and the new way of posting" {
	each same "ibv_rc_pingpong -g 1 -n 50 -c -e -s 1000000"
	each same "ibv_rc_pingpong -g 1 -n 300 -c -e -N"
}

@test "UD, UC and shared receive queue ping-pong" {
	each same "ibv_ud_pingpong -g 1 -n 300 -e -s 1024"
	each same "ibv_ud_pingpong -g 2 -n 300 -e -s 512"
	each same "ibv_uc_pingpong -g 1 -n 300 -e"
	each same "ibv_srq_pingpong -g 1 -n 300 -e"
}

@test "ping-pong of programs that name their peer by its LID" {
	run -0 in_ns "$A" ibv_devinfo
	[[ $output == *port_lid:*1* ]]
	each same "ibv_rc_pingpong -n 100 -c -e"
	each same "ibv_uc_pingpong -n 100 -e"
	each same "ibv_ud_pingpong -n 100 -e -s 1024"
	each same "ibv_srq_pingpong -n 100 -e"
}

@test "perftest: SEND, WRITE, READ and atomics" {
	need ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw
	each same "ib_send_bw -x 1 -n 100 -s 65536 -e"
	each same "ib_write_bw -x 1 -n 100 -s 65536 -q 4"
	each same "ib_read_bw -x 1 -n 100 -s 65536 -e"
	each same "ib_atomic_bw -x 1 -n 100 -e"
	each same "ib_atomic_bw -x 1 -n 100 -e -A CMP_AND_SWAP"
	each same "ib_write_bw -x 1 -n 100 -s 65536 -c UC"
	each same "ib_send_bw -x 1 -n 100 -s 1024 -c UD -e"
}

@test "perftest connects by rdma_cm" {
	need ib_send_bw
	each same "ib_send_bw -R -x 1 -n 100 -s 65536 -e"
}

@test "rping checks what it reads and writes" {
	each pair "rping -s -a $SERVER -C 20 -V" "rping -c -a $SERVER -C 20 -V"
	pair "$B" "rping -s -a fd77::1 -C 5 -V -S 20000" \
		"rping -c -a fd77::1 -C 5 -V -S 20000"
}

@test "ucmatose, udaddy, rdma_client" {
	each same_s "ucmatose -c 3"
	each same_s "udaddy -c 2"
	each pair rdma_server "rdma_client -s $SERVER"
	each pair rdma_xserver "rdma_xclient -s $SERVER"
}

@test "rsockets: streams and files" {
	each same_s "rstream -T b -S 65536 -C 50 -T v"
	each same_s "riostream -S 4096 -C 100"
}

@test "rcopy copies a file" {
	need rcopy
	local from=$BATS_TEST_TMPDIR/from to=$BATS_TEST_TMPDIR/to n

	head -c 1000000 /dev/urandom >"$from"
	for n in "$A" "$B"; do
		begin_server rcopy
		in_ns "$n" rcopy "$from" "$SERVER:$to"
		cmp "$from" "$to"
		end_server
		rm "$to"
	done
}

@test "multicast reaches the members of the group" {
	need mckey
	local pid

	in_ns "$A" mckey -m 239.77.1.1 -b 10.77.0.1 -C 10 3>&- \
		>"$BATS_TEST_TMPDIR/member" 2>&1 &
	pid=$!
	wait_for is_member 239.77.1.1
	in_ns "$B" mckey -m 239.77.1.1 -b 10.77.0.2 -s -C 10
	wait "$pid"
	grep -q "data transfers complete" "$BATS_TEST_TMPDIR/member"
}

is_member() { # group
	ip -n "$A" maddr show dev ent0 | grep -qw "$1"
}

@test "connections that nobody takes are refused" {
	run ! in_ns "$B" rping -c -a "$SERVER" -C 1 -p 9
	[[ $output == *REJECTED* || $output == *"wait for CONNECTED"* ]]
}

@test "the wire carried nothing that was malformed" {
	[ "$(statistic "$A" packets_received)" -gt 1000 ]
	[ "$(statistic "$A" packets_bad_icrc)" = 0 ]
	[ "$(statistic "$B" packets_bad_icrc)" = 0 ]
	[ "$(statistic "$A" packets_malformed)" = 0 ]
	[ "$(statistic "$B" send_errors)" = 0 ]
}
