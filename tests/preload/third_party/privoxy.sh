# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# privoxy: a proxy that filters: GET, POST, CONNECT, keep-alive
# programs: privoxy
# needs: privoxy curl nginx
# length: long
# gets: smc=8 may=TIMEOUT,CLOSED
stranger() {
	local p
	p=$(another)
	mkdir -p www && data www/file.html 1000000 && data www/file 3000000
	cat >config <<-EOT
		confdir /etc/privoxy
		logdir $place
		actionsfile $place/actions
		filterfile $place/filters
		listen-address 127.0.0.1:$p
		keep-alive-timeout 5
		default-server-timeout 60
		connection-sharing 1
		socket-timeout 30
	EOT
	printf '{+filter{digits} +limit-connect{-}}\n/\n' >actions
	printf 'FILTER: digits letters for digits\ns/7/seven/g\n' >filters
	serve_nginx back <<-EOT
		access_log off;
		types { text/html html; } default_type application/octet-stream;
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	serve server privoxy --no-daemon "$place/config"
	await_port "$p"
	ask curl -sS -x "http://127.0.0.1:$p" "http://127.0.0.1:$port/file" | digest
	ask curl -sS -x "http://127.0.0.1:$p" "http://127.0.0.1:$port/file.html" \
		"http://127.0.0.1:$port/file.html" | digest
	ask curl -sS -p -x "http://127.0.0.1:$p" "http://127.0.0.1:$port/file" | digest
	ask curl -sS -o /dev/null -w '%{http_code}\n' -x "http://127.0.0.1:$p" \
		-d @www/file "http://127.0.0.1:$port/file"
	ask curl -sS -r 5-20 -x "http://127.0.0.1:$p" "http://127.0.0.1:$port/file"
}
