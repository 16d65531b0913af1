# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# apache: mpm event: keep-alive, CGI-less pages, TLS, ab and siege
# programs: apache2
# needs: apache2 curl ab siege openssl /usr/lib/apache2/modules/mod_ssl.so
# length: long
# gets: smc=200 may=TIMEOUT,CLOSED,RENDEZVOUS
stranger() {
	apache mpm_event
}
apache() {
	local tls m=/usr/lib/apache2/modules
	tls=$(another)
	certificate
	mkdir -p www run && data www/file 2000000 && echo small >www/small
	cat >apache.conf <<-EOT
		ServerRoot $place
		ServerName localhost
		PidFile $place/pid
		DefaultRuntimeDir $place/run
		Listen 127.0.0.1:$port
		Listen 127.0.0.1:$tls
		User www-data
		Group www-data
		ErrorLog $place/error.txt
		LoadModule mpm_module $m/mod_$1.so
		LoadModule authz_core_module $m/mod_authz_core.so
		LoadModule socache_shmcb_module $m/mod_socache_shmcb.so
		LoadModule ssl_module $m/mod_ssl.so
		LoadModule status_module $m/mod_status.so
		DocumentRoot $place/www
		<Location /status>
		SetHandler server-status
		</Location>
		<VirtualHost 127.0.0.1:$tls>
		SSLEngine on
		SSLCertificateFile $place/both.pem
		</VirtualHost>
	EOT
	sed -i "s/mpm_module/${1}_module/" apache.conf
	serve server apache2 -f "$place/apache.conf" -DFOREGROUND
	await_port "$tls"
	ask curl -sS "http://127.0.0.1:$port/file" "http://127.0.0.1:$port/small" | digest
	ask curl -sS --cacert cert.pem "https://127.0.0.1:$tls/file" | digest
	ask ab -q -n 200 -c 8 "http://127.0.0.1:$port/small" |
		grep -e 'Complete requests' -e 'Failed' -e 'Write errors'
	ask ab -q -k -n 200 -c 8 "http://127.0.0.1:$port/small" |
		grep -e 'Complete requests' -e 'Failed'
	ask siege -q -R /dev/null -b -c 4 -r 10 "http://127.0.0.1:$port/small" >siege.txt 2>&1
	tr -d ' "' <siege.txt | grep -e '^transactions' -e '^failed'
	# A graceful restart hands the listening sockets on to new children.
	ask apache2 -f "$place/apache.conf" -k graceful
	sleep 0.5
	ask curl -sS "http://127.0.0.1:$port/file" | digest
}
