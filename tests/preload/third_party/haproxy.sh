# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# haproxy: HTTP and TCP modes in front of python's web server, TLS outside
# programs: haproxy
# needs: haproxy curl python3 openssl
# gets: smc=5
stranger() {
	local front tls tcp back=$port
	front=$(another) tls=$(another) tcp=$(another)
	certificate
	mkdir www && data www/file 3000000
	cat >haproxy.cfg <<-EOT
		global
		  maxconn 200
		  stats socket $place/admin.sock level admin
		defaults
		  mode http
		  timeout connect 5s
		  timeout client 20s
		  timeout server 20s
		frontend f
		  bind 127.0.0.1:$front
		  bind 127.0.0.1:$tls ssl crt $place/both.pem defer-accept
		  default_backend b
		backend b
		  server s 127.0.0.1:$back
		listen t
		  mode tcp
		  option splice-auto
		  bind 127.0.0.1:$tcp defer-accept
		  server s 127.0.0.1:$back
	EOT
	serve back python3 -u -m http.server "$back" --bind 127.0.0.1 -d www
	await_port "$back"
	serve proxy haproxy -db -f haproxy.cfg
	await_port "$tcp"
	ask curl -sS "http://127.0.0.1:$front/file" | digest
	ask curl -sS "http://127.0.0.1:$tcp/file" | digest
	ask curl -sS --cacert cert.pem "https://127.0.0.1:$tls/file" | digest
	ask curl -sS --http1.1 --cacert cert.pem "https://127.0.0.1:$tls/[1-3]" \
		-o /dev/null -w '%{http_code} %{num_connects}\n'
}
