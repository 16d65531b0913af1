# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# varnish: a cache in front of python's web server
# programs: varnish
# needs: varnishd curl python3 gcc
# length: long
# gets: smc=3 may=TIMEOUT,CLOSED,FORK
stranger() {
	local front
	front=$(another)
	mkdir www && data www/file 2000000
	serve back python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	await_port "$port"
	serve server varnishd -F -n "$place/v" -a "127.0.0.1:$front" -b "127.0.0.1:$port" -T none -s malloc,16m
	await_port "$front"
	await_true "${wrap[@]}" curl -sS -o /dev/null "http://127.0.0.1:$front/none"
	ask curl -sS "http://127.0.0.1:$front/file" | digest
	ask curl -sS "http://127.0.0.1:$front/file" | digest
	ask curl -sS -r 10-20 "http://127.0.0.1:$front/file" | digest
}
