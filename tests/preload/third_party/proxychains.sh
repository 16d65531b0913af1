# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# proxychains: a preload library that talks to two SOCKS servers in connect()
# programs: proxychains
# needs: proxychains4 microsocks nginx curl wget
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	local first second
	first=$(another)
	second=$first
	while [ "$second" = "$first" ]; do second=$(another); done
	mkdir www && data www/file 5000000
	serve_nginx server <<-EOT
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	serve first microsocks -i 127.0.0.1 -p "$first"
	serve second microsocks -i 127.0.0.1 -p "$second"
	await_port "$port" && await_port "$first" && await_port "$second"
	cat >p.conf <<-EOT
		strict_chain
		quiet_mode
		[ProxyList]
		socks5 127.0.0.1 $first
		socks5 127.0.0.1 $second
	EOT
	ask proxychains4 -f p.conf curl -sS "http://127.0.0.1:$port/file" | digest
	ask proxychains4 -f p.conf wget -qO - "http://127.0.0.1:$port/file" | digest
	ask proxychains4 -f p.conf curl -s --no-progress-meter --parallel \
		"http://127.0.0.1:$port/file" "http://127.0.0.1:$port/file" | wc -c
	ask proxychains4 -f p.conf curl -sS "http://127.0.0.1:1/" || true
}
