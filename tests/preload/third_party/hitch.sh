# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# hitch: TLS in front of a plain server, two workers
# programs: hitch
# needs: hitch curl python3 :nobody
# length: long
# gets: smc=16 may=TIMEOUT,CLOSED
# Its listeners have TCP_DEFER_ACCEPT.
stranger() {
	local tls
	tls=$(another)
	certificate
	mkdir www && data www/file 2000000
	cat >conf <<-EOT
		frontend = "[127.0.0.1]:$tls"
		backend = "[127.0.0.1]:$port"
		pem-file = "$place/both.pem"
		workers = 2
		daemon = off
		quiet = on
	EOT
	serve back python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	await_port "$port"
	serve server hitch --config=conf --user nobody
	await_port "$tls"
	for _ in 1 2 3; do
		ask curl -sS --cacert cert.pem "https://127.0.0.1:$tls/file" | digest
	done
	ask curl -sS --no-progress-meter --cacert cert.pem -Z "https://127.0.0.1:$tls/file?[1-8]" \
		-o 'out#1' -w '%{size_download}\n'
	cat out[1-8] | digest
}
