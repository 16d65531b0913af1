# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# h2o: HTTP/1 and 2, TLS, a reverse proxy
# programs: H2O
# needs: h2o curl nghttp python3 h2load
# length: long
# gets: smc=12 may=TIMEOUT,CLOSED
# Its listeners have TCP_DEFER_ACCEPT: of 22 connections those stay on TCP whose
# client gets to its first write 0.8 s late, and 16 begin together.
stranger() {
	local tls back
	tls=$(another) back=$(another)
	certificate
	mkdir www && data www/file 3000000 && echo small >www/small
	cat >conf <<-EOT
		user: root
		num-threads: 2
		pid-file: $place/pid
		listen: { host: 127.0.0.1, port: $port }
		listen:
		  host: 127.0.0.1
		  port: $tls
		  ssl: { certificate-file: $place/cert.pem, key-file: $place/key.pem }
		hosts:
		  default:
		    paths:
		      /:
		        file.dir: $place/www
		      /back:
		        proxy.reverse.url: http://127.0.0.1:$back/
	EOT
	serve back python3 -u -m http.server "$back" --bind 127.0.0.1 -d www
	serve server h2o -c "$place/conf"
	await_port "$back" && await_port "$tls"
	ask curl -sS "http://127.0.0.1:$port/file" | digest
	ask curl -sS -r 100-120 "http://127.0.0.1:$port/file"
	ask curl -sS --cacert cert.pem "https://localhost:$tls/file" | digest
	ask curl -sS --http2 --cacert cert.pem "https://localhost:$tls/back/file" | digest
	ask nghttp "https://127.0.0.1:$tls/file" 2>/dev/null | digest
	ask h2load -n 400 -c 8 -m 10 "https://127.0.0.1:$tls/small" | grep -e '^requests' -e '^status'
	ask h2load --h1 -n 400 -c 8 "http://127.0.0.1:$port/small" | grep -e '^requests' -e '^status'
}
