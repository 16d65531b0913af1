# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# sockperf: ping-pong and throughput over TCP
# programs: sockperf
# needs: sockperf
# length: long
# gets: smc=1
stranger() {
	serve server sockperf sr --tcp -i 127.0.0.1 -p "$port"
	await_port "$port"
	ask sockperf pp --tcp -i 127.0.0.1 -p "$port" -t 1 -m 64 \
		--mps=2000000 2>&1 |
		grep -c 'avg-latency'
	ask sockperf tp --tcp -i 127.0.0.1 -p "$port" -t 1 -m 1400 2>&1 |
		grep -c 'BandWidth'
}
