# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# pypy: PyPy: its HTTP server with threads, asyncio, a forking server
# programs: PyPy
# needs: pypy3 curl
# length: long
# gets: smc=14 may=CLOSED,TIMEOUT,FORK
stranger() {
	local p=$port
	mkdir www && data www/file 3000000
	serve http pypy3 -m http.server -b 127.0.0.1 -d www "$p"
	await_port "$p"
	ask curl -sS "http://127.0.0.1:$p/file" | digest
	ask curl -sS --no-progress-meter --parallel "http://127.0.0.1:$p/file?[1-5]" -o 'out#1' -w '%{size_download}\n'
	cat out[1-5] | digest
	cat >p.py <<-'EOT'
		import asyncio, socketserver, sys
		what, port = sys.argv[1], int(sys.argv[2])
		class Turn(socketserver.StreamRequestHandler):
		    def handle(self):
		        for line in self.rfile: self.wfile.write(line[-2::-1] + b"\n")
		class Server(socketserver.ForkingTCPServer):
		    allow_reuse_address = True
		    request_queue_size = 20
		async def client(k):
		    r, w = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
		    n = 0
		    for i in range(60):
		        w.write(b"x" * i * 300 + b"\n")
		        n += len(await r.readline())
		    w.write_eof()
		    n += len(await r.read())
		    w.close()
		    return k, n
		async def clients(): return await asyncio.gather(*map(client, range(8)))
		if what == "server": Server(("127.0.0.1", port), Turn).serve_forever()
		else: print(asyncio.run(clients()))
	EOT
	p=$(another)
	serve server pypy3 p.py server "$p"
	await_port "$p"
	ask pypy3 p.py client "$p"
}
