# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# aria2: eight connections for one file
# programs: aria2
# needs: aria2c lighttpd
# length: long
# gets: smc=4
stranger() {
	mkdir www && data www/file 9000000
	printf 'server.document-root = "%s/www"\nserver.port = %s\nserver.bind = "127.0.0.1"\n' "$place" "$port" >conf
	serve server lighttpd -D -f conf
	await_port "$port"
	ask aria2c -q -x 8 -s 8 -k 1M -d . -o got --file-allocation=none "http://127.0.0.1:$port/file"
	digest <got
}
