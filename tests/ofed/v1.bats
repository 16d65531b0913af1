#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# v1: RoCE version 1 (Ethernet type 0x8915) between two network namespaces.
# limit: 200

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	export OFED_CORE_ROCE_V2_MODE=0
	start_both
}

@test "every GID is of version 1" {
	run -0 in_ns "$A" ibv_devinfo -v
	[[ $output == *"RoCE v1"* ]]
	[[ $output != *"RoCE v2"* ]]
}

@test "verbs programs by link-local, IPv4 and IPv6 addresses" {
	same "$B" "ibv_rc_pingpong -g 0 -n 100 -c -e"
	same "$B" "ibv_rc_pingpong -g 1 -n 100 -c -e -s 100000"
	same "$B" "ibv_rc_pingpong -g 2 -n 100 -c -e"
	same "$B" "ibv_ud_pingpong -g 1 -n 100 -e -s 1024"
	same "$A" "ibv_ud_pingpong -g 1 -n 100 -e -s 1024"
}

@test "connection management and rsockets" {
	pair "$B" "rping -s -a $SERVER -C 10 -V" "rping -c -a $SERVER -C 10 -V"
	same_s "$B" "udaddy -c 2"
	same_s "$B" "rstream -T b -S 65536 -C 20 -T v"
}

# The new core has not learned the server's Ethernet address, nor has the kernel.
@test "the first request to a host waits for no timeout" {
	local begun

	stop_core "$B"
	start_core "$B"
	begin_server rping -s -P -a "$SERVER"
	ip -n "$B" neigh flush all
	begun=$SECONDS
	run -0 in_ns "$B" rping -c -a "$SERVER" -C 1
	end_server
	[ $((SECONDS - begun)) -lt 5 ]
}

@test "the wire carried nothing that was malformed" {
	[ "$(statistic "$A" packets_received)" -gt 100 ]
	[ "$(statistic "$A" packets_bad_icrc)" = 0 ]
	[ "$(statistic "$A" packets_malformed)" = 0 ]
}

@test "both versions at once" {
	stop_core "$A"
	stop_core "$B"
	OFED_CORE_ROCE_V2_MODE=2 start_both
	run -0 in_ns "$A" ibv_devinfo -v
	[[ $output == *"::ffff:10.77.0.1, RoCE v2"* ]]
	[[ $output == *"RoCE v1"* ]]
	same "$B" "ibv_rc_pingpong -g 2 -n 100 -c -e"
	same "$B" "ibv_rc_pingpong -g 3 -n 100 -c -e"
}
