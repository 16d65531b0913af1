# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dnsperf: questions to NSD over TCP, some in flight
# programs: dnsperf
# needs: dnsperf nsd
# length: long
# gets: smc=1 may=TIMEOUT,CLOSED
stranger() {
	local i
	for i in $(seq 300); do echo "a$i.example. TXT"; done >questions
	serve_nsd 300
	ask dnsperf -s 127.0.0.1 -p "$port" -m tcp -d questions -n 10 -c 4 |
		grep -e 'Queries [sclt]' -e 'Response codes' | sed 's/(.*//'
}
