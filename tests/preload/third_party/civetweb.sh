# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# civetweb: CivetWeb, a thread for each connection; curl and wrk
# programs: CivetWeb
# needs: civetweb curl ab
# length: long
# gets: smc=20 may=TIMEOUT,CLOSED
stranger() {
	mkdir www && data www/file 3000000 && echo hello >www/index.html
	serve server civetweb -listening_ports "127.0.0.1:$port" \
		-document_root "$place/www" -num_threads 10 \
		-enable_keep_alive yes
	await_port "$port"
	ask curl -sS "http://127.0.0.1:$port/file" "http://127.0.0.1:$port/file" | digest
	ask curl -sS -r 1000-2000 "http://127.0.0.1:$port/file" | digest
	ask ab -q -n 200 -c 5 "http://127.0.0.1:$port/index.html" |
		grep -e '^Complete' -e '^Failed' -e '^HTML'
}
