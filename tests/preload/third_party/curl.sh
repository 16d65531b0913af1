# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# curl: downloads, uploads, ranges, many at once, keep-alive, TLS
# programs: curl, nginx
# needs: nginx curl openssl
# gets: smc=10 may=DEMOTED_STALLED,DEMOTED_PEER
stranger() {
	local tls
	tls=$(another)
	certificate
	mkdir -p www upload/up && data www/file 3000000
	chmod 777 upload/up
	serve_nginx server 2 <<-EOT
		access_log off; sendfile on;
		server {
			listen 127.0.0.1:$port;
			listen 127.0.0.1:$tls ssl deferred;
			listen [::1]:$port;
			ssl_certificate cert.pem; ssl_certificate_key key.pem;
			client_max_body_size 20m;
			root $place/www;
			location /up { dav_methods PUT; root $place/upload; }
			location /gone { return 410; }
		}
	EOT
	await_port "$tls"
	ask curl -sS "http://127.0.0.1:$port/file" | digest
	ask curl -sSg "http://[::1]:$port/file" | digest
	ask curl -sS "http://localhost:$port/file" | digest
	ask curl -sS -r 100-299 "http://127.0.0.1:$port/file"
	ask curl -sS -I "http://127.0.0.1:$port/file" | grep -i content-length
	ask curl -sS --cacert cert.pem "https://localhost:$tls/file" | digest
	ask curl -sS -T www/file "http://127.0.0.1:$port/up/a" -w '%{http_code}\n'
	ask curl -sS -H 'Expect: 100-continue' -T www/file \
		"http://127.0.0.1:$port/up/b" -w '%{http_code}\n'
	ask curl -sS -d @www/file "http://127.0.0.1:$port/gone" -o /dev/null \
		-w '%{http_code} %{size_upload}\n'
	ask curl -sS -f "http://127.0.0.1:$port/gone"
	ask curl -sS --no-progress-meter --parallel "http://127.0.0.1:$port/file?[1-8]" -o 'out#1' \
		-w '%{http_code} %{size_download}\n'
	cat out[1-8] | digest
	ask curl -sS --limit-rate 2M "http://127.0.0.1:$port/file" | digest
	ask curl -s -m 1 "http://127.0.0.1:$(another)/"
	ask curl -sS "http://127.0.0.1:$port/file" -o /dev/null --next \
		-sS "http://127.0.0.1:$port/file" -o /dev/null -w '%{num_connects}\n'
	cmp upload/up/a www/file
}
