# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# tinyproxy: an HTTP proxy, CONNECT too
# programs: tinyproxy
# needs: tinyproxy curl python3
# length: long
# gets: smc=4 may=TIMEOUT,CLOSED
stranger() {
	local p
	p=$(another)
	mkdir www && data www/file 2000000
	serve back python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	printf 'Port %s\nListen 127.0.0.1\nTimeout 20\nLogLevel Critical\nConnectPort %s\n' "$p" "$port" >conf
	serve server tinyproxy -d -c conf
	await_port "$port" && await_port "$p"
	ask curl -sS -x "http://127.0.0.1:$p" "http://127.0.0.1:$port/file" | digest
	ask curl -sS -p -x "http://127.0.0.1:$p" "http://127.0.0.1:$port/file" | digest
}
