# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# fcgi: nginx, and programs that spawn-fcgi gives a listening socket as their input
# programs: spawn-fcgi, fcgiwrap, php-cgi
# needs: nginx spawn-fcgi fcgiwrap php-cgi curl
# length: long
# gets: smc=10 must=DEMOTED_EXEC may=CLOSED,TIMEOUT,FORK,DEMOTED_PEER
stranger() {
	local port2 port3
	port2=$(another)
	port3=$port2
	while [ "$port3" = "$port2" ]; do port3=$(another); done
	mkdir www
	printf '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n"; cat | wc -c; seq 20000\n' >www/a.cgi
	chmod +x www/a.cgi
	# shellcheck disable=SC2016 # PHP's
	echo '<?php echo strlen(file_get_contents("php://input")), " ", str_repeat("p", $_GET["n"] ?? 3); error_log("oh"); ?>' >www/a.php
	data body 400000
	serve_nginx server 2 <<-EOT
		server {
			listen 127.0.0.1:$port; root $place/www; client_max_body_size 0;
			location ~ cgi { include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name; fastcgi_pass 127.0.0.1:$port2; }
			location ~ php { include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name; fastcgi_pass 127.0.0.1:$port3; fastcgi_request_buffering off; }
		}
	EOT
	serve wrap spawn-fcgi -n -a 127.0.0.1 -p "$port2" -- /usr/sbin/fcgiwrap -c 4
	serve php env PHP_FCGI_CHILDREN=4 spawn-fcgi -n -a 127.0.0.1 -p "$port3" -- /usr/bin/php-cgi
	await_port "$port"
	await_port "$port2"
	await_port "$port3"
	ask curl -sS "http://127.0.0.1:$port/a.cgi?[1-5]" -o "c#1" 2>progress
	cat c? | digest
	ask curl -sS --data-binary @body "http://127.0.0.1:$port/a.cgi" | digest
	ask curl -sS -Z --parallel-max 8 "http://127.0.0.1:$port/a.php?n=100000&i=[1-24]" -o "q#1" 2>progress
	cat q? q?? | digest
	ask curl -sS --data-binary @body "http://127.0.0.1:$port/a.php?n=2000000" | digest
}
