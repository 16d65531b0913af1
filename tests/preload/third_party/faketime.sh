# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# faketime: clocks that run ten times as fast, and backwards
# programs: libfaketime
# needs: faketime /usr/bin/python3 curl nginx
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	mkdir www && data www/file 3000000
	serve_nginx server <<-EOT
		server { listen 127.0.0.1:$port; root $place/www; }
	EOT
	await_port "$port"
	cat >c.py <<-'EOT'
		import select, socket, sys, threading
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		s.settimeout(20)
		for i in range(20):
		    s.sendall(b"HEAD /file HTTP/1.1\r\nHost: x\r\n\r\n")
		    b = b""
		    while not b.endswith(b"\r\n\r\n"):
		        b += s.recv(4096)
		print(select.select([s], [], [], 0.2))
		s.settimeout(0.2)
		try:
		    s.recv(1)
		except TimeoutError as e:
		    print(e)
		e = select.epoll(); e.register(s, select.EPOLLIN)
		print(e.poll(0.2), len(b) > 100)
	EOT
	ask faketime -f '+5d x10' curl -sS "http://127.0.0.1:$port/file" | digest
	ask faketime -f '+5d x10' /usr/bin/python3 c.py "$port"
	ask faketime -f '-3y x0.2' /usr/bin/python3 c.py "$port"
	ask faketime -f '2020-01-01 00:00:00' curl -sS "http://127.0.0.1:$port/file" | digest
}
