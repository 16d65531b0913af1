#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# rxe: the core and the Linux kernel's rdma_rxe, in a virtual machine, with each
# other; both directions. "make check-kernel" runs them; in "make check" the link
# service and the kernel's SMC-R meet over the same two (smc.bats).
# limit: 500
# long: 1800

bats_require_minimum_version 1.5.0
OFED_A=${OFED_A:-ofedk$$x$RANDOM}
load ../ofed/net
load vm

setup_file() {
	WHY="in make check-kernel"
	[ -z "${SMC_R_LONG-}" ] || WHY=$(why_not)
	[ -n "$WHY" ] || WHY=$(why_no_vm)
	export WHY OFED_A
	[ -z "$WHY" ] || return 0
	: >"$OFED_CONF"
	tap_namespace && start_vm && start_core "$A"
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

@test "the kernel in the machine has a device" {
	run -0 guest "rdma link; ibv_devinfo"
	[[ $output == *"rxe0"*"ACTIVE"*"PORT_ACTIVE"* ]]
}

@test "RC, UC, UD and SRQ ping-pong" {
	both_ways "ibv_rc_pingpong -g 1 -n 100 -c -e"
	both_ways "ibv_uc_pingpong -g 1 -n 50 -e"
	both_ways "ibv_ud_pingpong -g 1 -n 50 -e -s 1024"
	both_ways "ibv_srq_pingpong -g 1 -n 50 -e"
}

@test "RC ping-pong of long messages, polling, and by IPv6" {
	both_ways "ibv_rc_pingpong -g 1 -n 20 -c -s 500000"
	both_ways "ibv_rc_pingpong -g 2 -n 50 -c -e"
	both_ways "ibv_rc_pingpong -g 0 -n 50 -c -e"
}

@test "rping" {
	to_kernel "rping -s -a $GUEST -C 10 -V" "rping -c -a $GUEST -C 10 -V"
	from_kernel "rping -s -a $SERVER -C 10 -V" "rping -c -a $SERVER -C 10 -V"
}

@test "rping over IPv6 with long messages" {
	to_kernel "rping -s -a fd77::2 -C 10 -V -S 20000" \
		"rping -c -a fd77::2 -C 10 -V -S 20000"
	from_kernel "rping -s -a fd77::1 -C 10 -V -S 20000" \
		"rping -c -a fd77::1 -C 10 -V -S 20000"
}

@test "ucmatose, rdma_client" {
	both_ways_s "ucmatose -c 2"
	to_kernel rdma_server "rdma_client -s $GUEST"
	from_kernel rdma_server "rdma_client -s $SERVER"
}

@test "udaddy, riostream, many connections" {
	both_ways_s "udaddy -c 1"
	both_ways_s "riostream -S 4096 -C 10"
	both_ways_s "ucmatose -c 20"
}

@test "rstream checks what it carries" {
	both_ways_s "rstream -T b -S 65536 -C 10 -T v"
}

@test "perftest: WRITE, READ, SEND and atomics" {
	need ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw
	both_ways "ib_write_bw -x 1 -n 50 -s 65536"
	both_ways "ib_read_bw -x 1 -n 50 -s 65536 -e"
	both_ways "ib_send_bw -x 1 -n 50 -s 65536 -e"
	both_ways "ib_atomic_bw -x 1 -n 50 -e"
}

@test "perftest: latencies, UD, connected by rdma_cm" {
	need ib_send_lat ib_write_lat
	both_ways "ib_send_lat -x 1 -n 100 -e"
	both_ways "ib_write_lat -x 1 -n 100"
	both_ways "ib_send_bw -c UD -x 1 -n 100 -s 1024 -e"
	# Its server is asked twice and listens again in between. Ours lets the
	# client wait; the kernel refuses one that comes too early, so not the
	# other way round.
	from_kernel "ib_send_bw -R -x 1 -n 50 -s 65536 -e" \
		"ib_send_bw -R -x 1 -n 50 -s 65536 -e $SERVER"
	# The kernel asks for all of it at once.
	both_ways "ib_read_bw -x 1 -n 5 -s 4000000 -e"
	both_ways "ib_write_bw -x 1 -n 50 -s 65536 -q 8"
}

@test "every ICRC on the wire is right, ours and the kernel's" {
	need dumpcap
	local pid file=$BATS_TEST_TMPDIR/wire.pcap

	ip netns exec "$A" dumpcap -q -P -i ent0 -w "$file" 3>&- \
		2>"$BATS_TEST_TMPDIR/dumpcap" &
	pid=$!
	wait_for test -s "$file"
	both_ways "ibv_rc_pingpong -g 1 -n 20 -c -e"
	both_ways "ibv_rc_pingpong -g 2 -n 20 -c -e -s 5000"
	both_ways "ibv_ud_pingpong -g 1 -n 20 -e -s 1021"
	from_kernel "rping -s -a $SERVER -C 3 -V" "rping -c -a $SERVER -C 3 -V"
	kill -INT "$pid"
	wait "$pid" || :
	run -0 "$BATS_TEST_DIRNAME/icrc.py" "$file"
	[[ $output == *"10.77.0.1 RoCE v2: "*"10.77.0.2 RoCE v2: "* ]]
	[[ $output == *"fd77::1 RoCE v2: "*"fd77::2 RoCE v2: "* ]]
}

@test "packets of 4096 bytes" {
	ip -n "$A" link set ent0 mtu 4200
	guest "ip link set eth0 mtu 4200"
	# Both take their new size before programs ask for it.
	wait_for guest "ibv_devinfo | grep -q 'active_mtu:.*4096'"
	both_ways "ibv_rc_pingpong -g 1 -n 50 -c -e -m 4096 -s 100000"
	both_ways "ib_write_bw -x 1 -n 50 -s 65536 -m 4096"
	ip -n "$A" link set ent0 mtu 1500
	guest "ip link set eth0 mtu 1500"
}

@test "loss in both directions" {
	[ "$(ask "$A" "set wire_loss 20")" = ok ]
	both_ways "ibv_rc_pingpong -g 1 -n 100 -c -e -s 20000"
	both_ways "ib_write_bw -x 1 -n 50 -s 65536"
	both_ways "ib_read_bw -x 1 -n 50 -s 65536 -e"
	[ "$(ask "$A" "set wire_loss 0")" = ok ]
	[ "$(statistic "$A" packets_lost_on_purpose)" -gt 10 ]
}

@test "a core on a host with a kernel device: both are there, rdma_cm is its" {
	local bin run

	bin=$(realpath "$BIN")
	run="export OFED_CORE_RUNDIR=/run/ofed OFED_CONF=/run/none PATH=$bin:\$PATH"

	guest "$run; mkdir -p /run/ofed; ofed_core"
	run -0 guest "$run; ofed_run ibv_devices"
	[[ $output == *rxe0*ent0* ]]
	run -0 guest "$run; ofed_run rdma dev"
	[[ $output == *rxe0*ent0* ]]
	run -0 guest "$run; ofed_run rdma link"
	[[ $output == *"link rxe0/1 state ACTIVE"*"link ent0/1 state ACTIVE"* ]]
	# Each is the device it says it is.
	# 4853 is the port, and 0A says that somebody listens.
	run -0 guest "$run; ofed_run ibv_rc_pingpong -d ent0 -g 1 -n 50 -c -e \
		>/run/server 2>&1 &
		until cat /proc/net/tcp* | grep -q ':4853 .* 0A '; do
			sleep 0.1
		done
		$run; ofed_run ibv_rc_pingpong -d ent0 -g 1 -n 50 -c -e 127.0.0.1
		wait"
	[[ $output == *"50 iters"* ]]
	in_ns "$A" ibv_rc_pingpong -g 1 -n 50 -c -e >"$BATS_TEST_TMPDIR/ours" \
		3>&- &
	wait_for listens "$A" $!
	guest "$run; ofed_run ibv_rc_pingpong -d rxe0 -g 1 -n 50 -c -e $SERVER"
	wait $!
	in_ns "$A" rping -s -a "$SERVER" -C 3 -V 3>&- &
	wait_for listens "$A" $!
	guest "$run; ofed_run rping -c -a $SERVER -C 3 -V"
	wait $!
}

@test "the wire carried nothing that was malformed" {
	[ "$(statistic "$A" packets_received)" -gt 1000 ]
	[ "$(statistic "$A" packets_bad_icrc)" = 0 ]
	[ "$(statistic "$A" packets_malformed)" = 0 ]
	run -0 guest "dmesg"
	[[ $output != *"Call Trace"* && $output != *"BUG:"* ]]
}
