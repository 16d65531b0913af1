# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# busybox: busybox httpd, wget, nc; the static one makes its calls itself
# programs: static busybox
# needs: /bin/busybox curl
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	mkdir www && data www/file 2000000
	serve server /bin/busybox httpd -f -p "127.0.0.1:$port" -h www
	await_port "$port"
	ask curl -sS "http://127.0.0.1:$port/file" | digest
	ask /bin/busybox wget -q -O - "http://127.0.0.1:$port/file" | digest
	free_port
	serve nc /bin/busybox nc -l -p "$port" -e /bin/cat www/file
	await_port "$port"
	ask /bin/busybox nc 127.0.0.1 "$port" </dev/null | digest
}
