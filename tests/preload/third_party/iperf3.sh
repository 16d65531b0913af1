# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# iperf3: all its directions
# programs: iperf3
# needs: iperf3 jq
# length: long
# gets: smc=8
stranger() {
	local way
	serve server iperf3 -s -B 127.0.0.1 -p "$port"
	await_port "$port"
	for way in "" -R "-P 4" --bidir -Z "-l 777"; do
		# shellcheck disable=SC2086
		ask iperf3 -c 127.0.0.1 -p "$port" -J -n 20M $way |
			jq -c .error
	done
}
