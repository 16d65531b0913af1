# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dante: a SOCKS server whose processes pass connections to each other
# programs: dante
# needs: danted nginx curl
# length: long
# gets: must=DEMOTED_PASSING may=DEMOTED_PEER,TIMEOUT,CLOSED,FORK
stranger() {
	local proxy
	proxy=$(another)
	mkdir -p www && data www/file 6000000
	serve_nginx server <<-EOT
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	cat >d.conf <<-EOT
		logoutput: stderr
		internal: 127.0.0.1 port = $proxy
		external: 127.0.0.1
		clientmethod: none
		socksmethod: none
		user.privileged: root
		user.unprivileged: nobody
		client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }
		socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }
	EOT
	serve danted danted -f d.conf -p "$place/pid"
	await_port "$proxy"
	ask curl -sS --socks5 "127.0.0.1:$proxy" "http://127.0.0.1:$port/file" | digest
	ask curl -sS --socks4 "127.0.0.1:$proxy" "http://127.0.0.1:$port/file" | digest
	ask curl -sS --socks5 "127.0.0.1:$proxy" -o answer -w '%{http_code}\n' \
		--data-binary @www/file "http://127.0.0.1:$port/file"
}
