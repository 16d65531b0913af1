# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by strangers.sh
# dns_tcp: NSD, asked and transferred over TCP
# programs: NSD, kdig
# needs: nsd kdig
# length: long
# gets: smc=2 may=TIMEOUT
stranger() {
	local i
	{
		echo "example. 60 SOA ns.example. a.example. 1 60 60 60 60"
		echo "example. 60 NS ns.example."
		for i in $(seq 3000); do echo "a$i.example. 60 TXT text$i"; done
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
			provide-xfr: 127.0.0.1 NOKEY
	EOT
	serve nsd nsd -d -c nsd.conf
	await_port "$port"
	ask kdig +tcp +short -p "$port" @127.0.0.1 a7.example TXT
	ask kdig +noall +answer -p "$port" @127.0.0.1 example AXFR | digest
	ask kdig +tcp +keepopen +short -p "$port" @127.0.0.1 a1.example TXT a2.example TXT a3.example TXT
}
