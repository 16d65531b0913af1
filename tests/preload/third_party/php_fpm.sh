# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# php_fpm: nginx with a FastCGI server over TCP
# programs: nginx and php-fpm
# needs: nginx curl /usr/sbin/php-fpm* :www-data
# length: long
# gets: smc=4
stranger() {
	local f fpm=(/usr/sbin/php-fpm*)
	f=$(another)
	mkdir www
	echo '<?php echo strlen(file_get_contents("php://input")), str_repeat("y", 200000);' >www/a.php
	cat >fpm.conf <<-EOT
		[global]
		error_log = $place/fpm.txt
		[w]
		user = www-data
		group = www-data
		listen = 127.0.0.1:$f
		pm = static
		pm.max_children = 2
	EOT
	serve fpm "${fpm[0]}" -F -y fpm.conf
	serve_nginx server <<-EOT
		access_log off;
		server {
			listen 127.0.0.1:$port;
			client_max_body_size 20m;
			location / {
				fastcgi_pass 127.0.0.1:$f;
				fastcgi_param SCRIPT_FILENAME $place/www\$fastcgi_script_name;
				fastcgi_param REQUEST_METHOD \$request_method;
				fastcgi_param CONTENT_LENGTH \$content_length;
				fastcgi_param CONTENT_TYPE \$content_type;
			}
		}
	EOT
	await_port "$f" && await_port "$port"
	data in 1000000
	ask curl -sS "http://127.0.0.1:$port/a.php" | digest
	ask curl -sS --data-binary @in "http://127.0.0.1:$port/a.php" | digest
}
