# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# httperf: sessions, and one connection for each request; slowhttptest
# programs: httperf, slowhttptest
# needs: httperf slowhttptest nginx
# length: long
# gets: smc=100 may=TIMEOUT,CLOSED
stranger() {
	mkdir www && data www/file 50000
	serve_nginx server <<-EOT
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	ask httperf --server 127.0.0.1 --port "$port" --uri /file \
		--num-conns 200 --num-calls 1 |
		grep -e '^Reply status' -e '^Errors' -e '^Total:' |
		sed 's/ test-duration.*//'
	ask httperf --server 127.0.0.1 --port "$port" --uri /file \
		--wsess 20,10,0 --burst-length 5 |
		grep -e '^Reply status' -e '^Errors'
	ask slowhttptest -c 50 -H -r 50 -i 1 -l 3 -p 3 \
		-u "http://127.0.0.1:$port/file" 2>&1 |
		grep -a -o -e 'closed: *[0-9]*' -e 'error: *[0-9]*' | sort -u |
		tail -n 3
}
