# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# socks: microsocks, rinetd and sslh before a web server
# programs: microsocks, rinetd, sslh
# needs: microsocks rinetd sslh curl python3
# length: long
# gets: smc=4
stranger() {
	local socks forward either
	socks=$(another) forward=$(another) either=$(another)
	mkdir www && data www/file 3000000
	echo "127.0.0.1 $forward 127.0.0.1 $port" >rinetd.conf
	serve back python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	serve socks microsocks -i 127.0.0.1 -p "$socks"
	serve forward rinetd -f -c rinetd.conf
	serve either sslh -f -p "127.0.0.1:$either" --http "127.0.0.1:$port"
	await_port "$port" && await_port "$socks" && await_port "$forward" &&
		await_port "$either"
	ask curl -sS -x "socks5h://127.0.0.1:$socks" \
		"http://127.0.0.1:$port/file" | digest
	ask curl -sS "http://127.0.0.1:$forward/file" | digest
	ask curl -sS "http://127.0.0.1:$either/file" | digest
}
