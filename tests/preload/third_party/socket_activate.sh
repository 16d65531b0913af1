# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# socket_activate: systemd-socket-activate: a listener that is inherited
# programs: socket activation
# needs: systemd-socket-activate curl nc.openbsd /usr/bin/python3
# length: long
# gets: smc=2 must=DEMOTED_STDIO may=DEMOTED_EXEC,DEMOTED_PEER,TIMEOUT,FORK
stranger() {
	cat >server.py <<-'EOT'
		import http.server, os, socket
		assert os.environ["LISTEN_FDS"] == "1"
		class H(http.server.BaseHTTPRequestHandler):
		    def log_message(self, *a): pass
		    def do_GET(self):
		        self.send_response(200); self.end_headers(); self.wfile.write(b"z" * 500000)
		s = http.server.HTTPServer(("", 0), H, bind_and_activate=False)
		s.socket = socket.socket(fileno=3)
		s.serve_forever()
	EOT
	serve server systemd-socket-activate -l "127.0.0.1:$port" /usr/bin/python3 server.py
	await_port "$port"
	ask curl -sS "http://127.0.0.1:$port/" | digest
	ask curl -sS "http://127.0.0.1:$port/" | digest
	free_port
	serve each systemd-socket-activate -a --inetd -l "127.0.0.1:$port" seq 100000
	await_port "$port"
	ask nc.openbsd -d 127.0.0.1 "$port" | digest
}
