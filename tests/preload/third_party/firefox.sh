# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# firefox: without a window; a page loads scripts and data and says so
# programs: Firefox
# needs: firefox-esr nginx file
# length: long
# gets: smc=1 may=TIMEOUT,CLOSED
stranger() {
	local i
	mkdir -p www home && chmod 777 home
	data www/data.txt 2000000
	for i in 1 2 3 4 5 6; do
		echo "count++;" >"www/$i.js"
	done
	cat >www/index.html <<-'EOT'
		<html><body><script>var count = 0;</script>
		<script src=1.js></script><script src=2.js></script><script src=3.js></script>
		<script src=4.js></script><script src=5.js></script><script src=6.js></script>
		<script>
		var r = new XMLHttpRequest();
		r.open('GET', 'data.txt', false); r.send();
		count += r.responseText.length;
		r.open('GET', 'loaded?' + count, false); r.send();
		</script></body></html>
	EOT
	serve_nginx server <<-EOT
		log_format request '\$request \$status';
		access_log $place/requests request;
		types { text/html html; text/javascript js; text/plain txt; }
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	export HOME=$place/home
	ask_limit=60 ask firefox-esr --headless --no-remote \
		--profile "$place/home" --screenshot "$place/picture.png" \
		"http://127.0.0.1:$port/index.html" >err.txt 2>&1
	file -b --mime-type picture.png
	grep -v favicon requests | sort
	grep -c -e 'ld.so' -e smc_r err.txt || true
}
