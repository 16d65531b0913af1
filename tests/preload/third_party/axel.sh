# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# axel: several connections for one file; siege
# programs: axel, siege
# needs: axel siege python3 lighttpd
# length: long
# gets: smc=4
stranger() {
	mkdir www && data www/file 9000000
	cat >conf <<-EOT
		server.document-root = "$place/www"
		server.port = $port
		server.bind = "127.0.0.1"
	EOT
	serve server lighttpd -D -f conf
	await_port "$port"
	ask axel -q -n 6 -o got "http://127.0.0.1:$port/file"
	digest <got
	ask siege -q -b -c 5 -r 20 "http://127.0.0.1:$port/file" 2>&1 |
		grep -e '"transactions"' -e '"failed' -e '"successful'
}
