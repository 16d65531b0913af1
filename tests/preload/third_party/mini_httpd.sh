# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mini_httpd: a process for each request, and browsers of the terminal
# programs: mini-httpd, w3m, lynx, links
# needs: mini_httpd w3m lynx links curl
# length: long
# gets: smc=4 may=FORK,TIMEOUT,CLOSED
stranger() {
	mkdir www && data www/file.txt 300000 && chmod 755 www
	serve server mini_httpd -D -p "$port" -h 127.0.0.1 -d www -u nobody -i pid
	await_port "$port"
	ask curl -sS "http://127.0.0.1:$port/file.txt" | digest
	ask w3m -dump_source "http://127.0.0.1:$port/file.txt" | digest
	ask lynx -source "http://127.0.0.1:$port/file.txt" | digest
	HOME=$place ask links -source "http://127.0.0.1:$port/file.txt" | digest
}
