# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# chromium: a headless browser loads a page with scripts, pictures and a web socket
# programs: chromium
# needs: chromium nginx
# length: long
# gets: smc=2 may=TIMEOUT,CLOSED
stranger() {
	local i
	mkdir -p www home && chmod 777 home
	data www/data.txt 2000000
	for i in 1 2 3 4 5 6; do
		echo "document.title += ' $i';" >"www/$i.js"
	done
	cat >www/index.html <<-'EOT'
		<html><head><title>page</title></head><body><p id=a>no</p><script>
		fetch('data.txt').then(r => r.text()).then(t => { document.getElementById('a').textContent = 'got ' + t.length; });
		</script>
		<script src=1.js></script><script src=2.js></script><script src=3.js></script>
		<script src=4.js></script><script src=5.js></script><script src=6.js></script></body></html>
	EOT
	serve_nginx server <<-EOT
		access_log off;
		types { text/html html; text/javascript js; text/plain txt; }
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	export HOME=$place/home
	ask_limit=60 ask chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$place/home/c" --virtual-time-budget=5000 \
		--dump-dom "http://127.0.0.1:$port/index.html" 2>err.txt
	grep -c -e 'ld.so' -e smc_r err.txt || true
}
