# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# reloads: servers that give their listening sockets to a successor while
# clients come: nginx (USR2, by environment), haproxy (by a UNIX socket)
# programs: nginx, haproxy reload
# needs: /usr/sbin/nginx haproxy curl
# length: long
# gets: smc=20 may=CLOSED,TIMEOUT,PEER_NO_SMC
get_all() { # port
	local i
	for ((i = 0; i < 20; i++)); do
		ask curl -sS "http://127.0.0.1:$1/file" | digest
	done | sort | uniq -c
}
stranger() {
	local front
	mkdir -p www && data www/file 1000000
	cat >nginx.conf <<-EOT
		user root; pid $place/pid; error_log $place/error.log;
		worker_processes 1;
		events { worker_connections 256; }
		http { server { listen 127.0.0.1:$port; root $place/www; } }
	EOT
	ask /usr/sbin/nginx -p "$place" -c "$place/nginx.conf" -e "$place/error.log"
	await_port "$port"
	get_all "$port"
	front=$(another)
	cat >h.cfg <<-EOT
		global
			stats socket $place/sock expose-fd listeners level admin
			master-worker
		defaults
			mode http
			timeout connect 5s
			timeout client 5s
			timeout server 5s
		listen x
			bind 127.0.0.1:$front
			server s 127.0.0.1:$port
	EOT
	serve haproxy haproxy -W -f h.cfg
	await_port "$front"
	get_all "$front"
	kill -USR2 "$last"
	get_all "$front"
	kill -USR2 "$(cat pid)"
	await_true test -s pid.oldbin
	get_all "$port"
	kill -WINCH "$(cat pid.oldbin)"
	get_all "$front"
	kill -QUIT "$(cat pid.oldbin)"
	get_all "$port"
	kill -QUIT "$(cat pid)"
}
