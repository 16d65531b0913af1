# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# php: php -S, streams, curl against it
# programs: PHP
# needs: php curl
# length: long
# gets: smc=5
stranger() {
	cat >index.php <<-'EOT'
		<?php echo $_SERVER['REQUEST_METHOD'], ' ', strlen(file_get_contents('php://input')), "\n", str_repeat('x', 300000);
	EOT
	cat >client.php <<-'EOT'
		<?php
		for ($i = 0; $i < 5; $i++)
			echo strlen(file_get_contents("http://127.0.0.1:$argv[1]/")), "\n";
		$s = stream_socket_client("tcp://127.0.0.1:$argv[1]");
		fwrite($s, "GET / HTTP/1.0\r\n\r\n");
		stream_set_blocking($s, false);
		$n = 0;
		do { $r = [$s]; $w = $e = null; stream_select($r, $w, $e, 5); $b = fread($s, 8192); $n += strlen($b); } while (!feof($s));
		echo $n > 300000 ? "all\n" : "$n\n";
	EOT
	serve server php -S "127.0.0.1:$port" -t .
	await_port "$port"
	ask php client.php "$port"
	ask curl -sS -d @client.php "http://127.0.0.1:$port/" | digest
}
