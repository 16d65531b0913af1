# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# php_ftp: PHP's FTP functions, an extension that PHP loads with RTLD_DEEPBIND
# programs: PHP's FTP functions
# needs: php /usr/lib/python3/dist-packages/pyftpdlib
# gets: smc=5
stranger() {
	mkdir up && data up/file 2000000 && chmod 777 up
	cat >client.php <<-'EOT'
		<?php
		$f = ftp_connect("127.0.0.1", (int)$argv[1], 5) or die("connect\n");
		ftp_login($f, "anonymous", "me") or die("login\n");
		ftp_pasv($f, true);
		echo ftp_systype($f), " ", ftp_pwd($f), " ", ftp_size($f, "file"), "\n";
		ftp_get($f, "b", "file", FTP_BINARY) or die("get\n");
		ftp_put($f, "c", "b", FTP_BINARY) or die("put\n");
		ftp_pasv($f, false);
		ftp_get($f, "d", "c", FTP_BINARY) or die("active\n");
		echo count(ftp_nlist($f, ".")), "\n";
		ftp_close($f);
	EOT
	serve server /usr/bin/python3 -m pyftpdlib -i 127.0.0.1 -p "$port" -d up -w
	await_port "$port"
	ask php client.php "$port"
	cmp up/file up/c && cmp up/file d && echo same
}
