# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# trickle: a preload library that delays reads and writes
# programs: trickle
# needs: trickle nginx curl wget
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	mkdir www && data www/file 3000000
	serve_nginx server <<-EOT
		server {
			listen 127.0.0.1:$port; root $place/www;
			location /put { client_max_body_size 0; return 204; }
		}
	EOT
	await_port "$port"
	ask trickle -s -d 4000 -u 4000 curl -sS "http://127.0.0.1:$port/file" | digest
	ask trickle -s -d 4000 -u 4000 wget -qO - "http://127.0.0.1:$port/file" | digest
	ask trickle -s -d 100000 -u 2000 curl -sS -o answer -w '%{http_code}\n' \
		--data-binary @www/file "http://127.0.0.1:$port/file"
}
