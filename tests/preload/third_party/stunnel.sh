# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# stunnel: TLS in front of a plain server, and a client tunnel
# programs: stunnel
# needs: stunnel4 curl python3
# length: long
# gets: smc=5
stranger() {
	local tls client
	tls=$(another) client=$(another)
	certificate
	mkdir www && data www/file 2000000
	cat >server.conf <<-EOT
		foreground = yes
		pid =
		[web]
		accept = 127.0.0.1:$tls
		connect = 127.0.0.1:$port
		cert = $place/both.pem
	EOT
	cat >client.conf <<-EOT
		foreground = yes
		pid =
		client = yes
		[web]
		accept = 127.0.0.1:$client
		connect = 127.0.0.1:$tls
		CAfile = $place/cert.pem
		verifyChain = yes
	EOT
	serve back python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	serve server stunnel4 server.conf
	serve client stunnel4 client.conf
	await_port "$port" && await_port "$tls" && await_port "$client"
	ask curl -sS --cacert cert.pem "https://127.0.0.1:$tls/file" | digest
	ask curl -sS "http://127.0.0.1:$client/file" | digest
}
