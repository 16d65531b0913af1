# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# squid: a caching proxy
# programs: squid
# needs: squid curl python3 :proxy
# length: long
# gets: smc=3 may=TIMEOUT,CLOSED
stranger() {
	local p
	p=$(another)
	mkdir www log && chmod 777 log . && data www/file 2000000
	cat >squid.conf <<-EOT
		http_port 127.0.0.1:$p
		http_access allow all
		cache_log $place/log/cache
		access_log none
		pid_filename none
		coredump_dir $place/log
		shutdown_lifetime 0 seconds
		maximum_object_size_in_memory 10 MB
		netdb_filename none
		icon_directory /usr/share/squid/icons
	EOT
	serve back python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	serve server squid -N -n "s$p" -f "$place/squid.conf"
	await_port "$port" && await_port "$p"
	ask curl -sS --noproxy '' -x "http://127.0.0.1:$p" \
		"http://127.0.0.1:$port/file" "http://127.0.0.1:$port/file" |
		digest
}
