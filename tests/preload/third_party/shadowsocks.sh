# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# shadowsocks: shadowsocks-libev: curl through two proxies
# programs: shadowsocks-libev
# needs: ss-server ss-local curl python3
# length: long
# gets: smc=12 may=CLOSED,TIMEOUT,DEMOTED_STALLED,DEMOTED_PEER
stranger() {
	local web socks
	web=$(another) socks=$(another)
	mkdir www && data www/file 4000000
	serve web python3 -m http.server -b 127.0.0.1 -d www "$web"
	serve server ss-server -s 127.0.0.1 -p "$port" -k word -m aes-256-gcm
	serve local ss-local -s 127.0.0.1 -p "$port" -b 127.0.0.1 -l "$socks" -k word -m aes-256-gcm
	await_port "$web"
	await_port "$port"
	await_port "$socks"
	for _ in 1 2 3; do ask curl -sS --socks5 "127.0.0.1:$socks" "http://127.0.0.1:$web/file" | digest; done
	ask curl -sS --socks5 "127.0.0.1:$socks" --no-progress-meter --parallel "http://127.0.0.1:$web/file?[1-5]" -o 'out#1' -w '%{size_download}\n'
	cat out[1-5] | digest
}
