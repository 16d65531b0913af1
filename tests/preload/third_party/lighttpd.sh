# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# lighttpd: files, ranges, a CGI program
# programs: lighttpd
# needs: lighttpd curl
# length: long
# gets: smc=4
stranger() {
	mkdir -p www && data www/file 3000000
	cat >www/env.cgi <<-'EOT'
		#!/bin/sh
		echo "Content-Type: text/plain"
		echo
		echo "$REQUEST_METHOD $QUERY_STRING"
		exec cat
	EOT
	chmod +x www/env.cgi
	cat >conf <<-EOT
		server.document-root = "$place/www"
		server.port = $port
		server.bind = "127.0.0.1"
		server.errorlog = "$place/error.txt"
		server.modules = ("mod_cgi")
		server.defer-accept = 5
		cgi.assign = ( ".cgi" => "" )
	EOT
	serve server lighttpd -D -f conf
	await_port "$port"
	ask curl -sS "http://127.0.0.1:$port/file" | digest
	ask curl -sS -r 5-9 "http://127.0.0.1:$port/file" | digest
	ask curl -sS --data-binary @www/file "http://127.0.0.1:$port/env.cgi?a=b" | digest
	ask curl -sS -d hello "http://127.0.0.1:$port/env.cgi?a=b"
}
