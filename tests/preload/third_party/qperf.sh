# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# qperf: tcp_bw, tcp_lat
# programs: qperf
# needs: qperf
# length: long
# gets: smc=2 must=DEMOTED_AIO
stranger() {
	serve server qperf -lp "$port"
	await_port "$port"
	ask qperf 127.0.0.1 -lp "$port" -t 1 tcp_bw tcp_lat | grep -e ^tcp -e bw -e lat | sed 's/=.*//'
}
