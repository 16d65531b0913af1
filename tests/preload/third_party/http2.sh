# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# http2: many streams on few connections
# programs: nghttpd, h2load
# needs: nghttpd h2load curl
# length: long
# gets: smc=5 may=CLOSED
stranger() {
	data big 300000
	serve server nghttpd --no-tls -d "$place" "$port"
	await_port "$port"
	ask h2load -n 200 -c 4 -m 8 "http://127.0.0.1:$port/big" |
		grep -E '^(requests|status codes):'
	ask curl -sS --http2-prior-knowledge "http://127.0.0.1:$port/big" |
		digest
}
