# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# socket_proxyd: splices from socket to socket, files and uploads through it
# programs: systemd-socket-proxyd
# needs: /lib/systemd/systemd-socket-proxyd systemd-socket-activate nginx curl
# gets: smc=6 may=TIMEOUT,CLOSED
stranger() {
	local proxy
	proxy=$(another)
	mkdir -p www && data www/file 6000000
	serve_nginx server <<-EOT
		server {
			listen 127.0.0.1:$port; root $place/www;
			location /back { proxy_pass http://127.0.0.1:$port/file; }
		}
	EOT
	await_port "$port"
	serve proxy systemd-socket-activate -l "127.0.0.1:$proxy" \
		/lib/systemd/systemd-socket-proxyd "127.0.0.1:$port"
	await_port "$proxy"
	for _ in 1 2 3; do
		ask curl -sS "http://127.0.0.1:$proxy/file" | digest
	done
	ask curl -s --parallel --no-progress-meter "http://127.0.0.1:$proxy/file" \
		"http://127.0.0.1:$proxy/back" | wc -c
	ask curl -sS -o answer -w '%{http_code}\n' --data-binary @www/file \
		"http://127.0.0.1:$proxy/file"
}
