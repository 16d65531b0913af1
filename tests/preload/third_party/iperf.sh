# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# iperf: version 2, both directions, small writes, a rate
# programs: iperf
# needs: iperf
# length: long
# gets: smc=4
# Not -d, -F and -P: its server (2.1.8) may then crash, over TCP too.
stranger() {
	local way
	serve server iperf -s -B 127.0.0.1 -p "$port"
	await_port "$port"
	for way in "-n 20M" "-n 5M -l 777" "-n 20M -R"; do
		# shellcheck disable=SC2086
		ask iperf -c 127.0.0.1 -p "$port" $way -y C | cut -d , -f 8
	done
	ask iperf -c 127.0.0.1 -p "$port" -t 1 -b 50M -y C | wc -l
}
