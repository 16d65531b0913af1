# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# unbound: a resolver that is asked over TCP and TLS
# programs: unbound
# needs: unbound dig openssl
# length: long
# gets: smc=3
stranger() {
	local tls
	tls=$(another)
	certificate
	{
		cat <<-EOT
			server:
				interface: 127.0.0.1@$port
				interface: 127.0.0.1@$tls
				tls-port: $tls
				tls-service-key: $place/key.pem
				tls-service-pem: $place/cert.pem
				do-daemonize: no
				username: ""
				chroot: ""
				directory: $place
				pidfile: ""
				use-syslog: no
				num-threads: 2
				do-udp: yes
				local-zone: "home." static
		EOT
		seq 200 | sed 's/.*/	local-data: "a.home. IN TXT text-of-record-&-and-more"/'
	} >conf
	serve server unbound -d -c "$place/conf"
	await_port "$tls"
	ask dig +short +tcp -p "$port" @127.0.0.1 a.home txt | sort | digest
	ask dig +short +tcp +keepopen -p "$port" @127.0.0.1 a.home txt a.home txt nothing.home txt |
		sort | digest
	ask dig +short +tls -p "$tls" @127.0.0.1 a.home txt | sort | digest
}
