#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# loss: reliable transfers while the core loses 3 of 100 packets.
# limit: 300

bats_require_minimum_version 1.5.0
load net

setup_file() {
	WHY=$(why_not)
	if [ -z "$WHY" ]; then
		namespaces || WHY="no network namespaces can be made here"
	fi
	export WHY
	[ -z "$WHY" ] || return 0
	printf 'wire_loss=30\ncm_connect_timeout=300\n' >"$OFED_CONF"
	start_both
}

teardown_file() {
	[ -n "$WHY" ] || end_namespaces
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
}

@test "RC ping-pong survives loss" {
	same "$B" "ibv_rc_pingpong -g 1 -n 200 -c -e"
	same "$B" "ibv_rc_pingpong -g 1 -n 20 -c -e -s 200000"
}

@test "WRITE, READ and atomics survive loss" {
	need ib_write_bw ib_read_bw ib_atomic_bw
	same "$B" "ib_write_bw -x 1 -n 100 -s 65536"
	same "$B" "ib_read_bw -x 1 -n 100 -s 65536 -e"
	same "$B" "ib_atomic_bw -x 1 -n 100 -e"
}

@test "connection management survives loss" {
	pair "$B" "rping -s -a $SERVER -C 10 -V" "rping -c -a $SERVER -C 10 -V"
	same_s "$B" "rstream -T b -S 65536 -C 20 -T v"
}

@test "packets were lost and sent again" {
	[ "$(statistic "$A" packets_lost_on_purpose)" -gt 10 ]
	[ "$(statistic "$B" retransmissions)" -gt 1 ]
}
