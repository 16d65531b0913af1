# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# wget: downloads, a mirror, time-outs that jump out of connect
# programs: wget
# needs: wget python3
# gets: smc=3
stranger() {
	mkdir -p www/sub && data www/file 2000000 && data www/sub/other 1000
	serve server python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	await_port "$port"
	ask wget -q -O - "http://127.0.0.1:$port/file" | digest
	ask wget -q -T 5 -t 1 -O - "http://127.0.0.1:$port/missing"
	ask wget -q -r -nH -P mirror -e robots=off "http://127.0.0.1:$port/"
	find mirror -type f -name '[fo]*' | sort | xargs sha256sum
	ask wget -q -c -O - --header 'Range: bytes=10-20' "http://127.0.0.1:$port/file" | digest
}
