# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# trafficserver: a caching proxy of threads: cache, ranges, tunnels, many at once
# programs: Traffic Server
# needs: traffic_server curl nginx h2load :trafficserver
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	local p
	p=$(another)
	mkdir -p www ats/etc ats/var/log ats/var/cache ats/var/run
	data www/file 3000000 && echo small >www/small
	serve_nginx back <<-EOT
		access_log off; expires 1h;
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	cp -r /etc/trafficserver/. ats/etc
	cat >runroot.yaml <<-EOT
		prefix: $place/ats
		exec_prefix: /usr
		bindir: /usr/bin
		sbindir: /usr/sbin
		sysconfdir: $place/ats/etc
		datadir: $place/ats/var
		includedir: /usr/include
		libdir: /usr/lib/trafficserver
		libexecdir: /usr/lib/trafficserver/modules
		localstatedir: $place/ats/var
		runtimedir: $place/ats/var/run
		logdir: $place/ats/var/log
		cachedir: $place/ats/var/cache
	EOT
	echo "map / http://127.0.0.1:$port/" >ats/etc/remap.config
	echo "$place/ats/var/cache 64M" >ats/etc/storage.config
	cat >ats/etc/records.config <<-EOT
		CONFIG proxy.config.http.server_ports STRING $p:ip-in=127.0.0.1
		CONFIG proxy.config.admin.user_id STRING trafficserver
		CONFIG proxy.config.exec_thread.autoconfig INT 0
		CONFIG proxy.config.exec_thread.limit INT 3
		CONFIG proxy.config.hostdb.host_file.path STRING /etc/hosts
	EOT
	chmod -R 777 ats && chmod 777 .
	serve server traffic_server --run-root="$place/runroot.yaml"
	await_port "$p"
	sleep 2
	ask curl -sS "http://127.0.0.1:$p/file" | digest
	ask curl -sS "http://127.0.0.1:$p/file" "http://127.0.0.1:$p/file" | digest
	ask curl -sS -r 1000-1020 "http://127.0.0.1:$p/file"
	ask h2load --h1 -n 800 -c 8 "http://127.0.0.1:$p/small" | grep -e '^requests' -e '^status'
}
