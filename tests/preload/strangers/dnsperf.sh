# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by strangers.sh
# dnsperf: questions to NSD over TCP, some in flight
# programs: dnsperf
# needs: dnsperf nsd
# length: long
# gets: smc=1 may=TIMEOUT,CLOSED
stranger() {
	local i
	{
		echo "example. 60 SOA ns.example. a.example. 1 60 60 60 60"
		echo "example. 60 NS ns.example."
		for i in $(seq 300); do echo "a$i.example. 60 TXT text$i"; done
	} >example.zone
	cat >nsd.conf <<-EOT
		server:
			ip-address: 127.0.0.1@$port
			username: ""
			zonesdir: "$place"
			pidfile: ""
			xfrdfile: ""
			zonelistfile: "$place/list"
		remote-control:
			control-enable: no
		zone:
			name: example
			zonefile: example.zone
	EOT
	for i in $(seq 300); do echo "a$i.example. TXT"; done >questions
	serve nsd nsd -d -c nsd.conf
	await_port "$port"
	ask dnsperf -s 127.0.0.1 -p "$port" -m tcp -d questions -n 10 -c 4 |
		grep -e 'Queries [sclt]' -e 'Response codes' | sed 's/(.*//'
}
