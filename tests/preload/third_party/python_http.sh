# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# python_http: ThreadingHTTPServer, requests, urllib, xmlrpc
# programs: Python HTTP, XML-RPC
# needs: /usr/bin/python3 /usr/lib/python3/dist-packages/requests
# gets: smc=20 may=CLOSED,TIMEOUT
stranger() {
	cat >server.py <<-'EOT'
		import http.server, sys, time
		class H(http.server.BaseHTTPRequestHandler):
		    protocol_version = "HTTP/1.1"
		    def log_message(self, *a): pass
		    def do_GET(self):
		        if self.path == "/slow":
		            time.sleep(0.6)
		        self.send_response(200)
		        if self.path == "/chunked":
		            self.send_header("Transfer-Encoding", "chunked")
		            self.end_headers()
		            for i in range(200):
		                b = b"%d" % i * 500
		                self.wfile.write(b"%x\r\n%s\r\n" % (len(b), b))
		            self.wfile.write(b"0\r\n\r\n")
		        else:
		            b = b"0123456789" * 100000
		            self.send_header("Content-Length", str(len(b)))
		            self.end_headers()
		            self.wfile.write(b)
		    def do_POST(self):
		        n = int(self.headers["Content-Length"])
		        b = self.rfile.read(n)
		        self.send_response(200)
		        self.send_header("Content-Length", str(n))
		        self.end_headers()
		        self.wfile.write(b[::-1])
		http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
	EOT
	cat >client.py <<-'EOT'
		import hashlib, requests, sys, urllib.request, threading
		u = "http://127.0.0.1:" + sys.argv[1]
		h = lambda b: hashlib.sha256(b).hexdigest()[:16]
		s = requests.Session()
		print(h(s.get(u + "/a").content), h(s.get(u + "/chunked").content))
		print(h(s.post(u, data=b"abc" * 300000).content))
		with s.get(u + "/a", stream=True) as r:
		    print(len(next(r.iter_content(7777))))
		try:
		    requests.get(u + "/slow", timeout=0.1)
		except requests.exceptions.RequestException as e:
		    print("time-out")
		print(h(urllib.request.urlopen(u + "/a").read()))
		out = []
		def one(i):
		    out.append(h(requests.post(u, data=bytes([i]) * 99999).content))
		t = [threading.Thread(target=one, args=(i,)) for i in range(8)]
		[x.start() for x in t]; [x.join() for x in t]
		print(*sorted(out))
	EOT
	cat >rpc.py <<-'EOT'
		import sys, threading, xmlrpc.client, xmlrpc.server
		s = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", int(sys.argv[1])), logRequests=False)
		s.register_function(lambda a, b: a + b, "add")
		threading.Thread(target=s.serve_forever, daemon=True).start()
		p = xmlrpc.client.ServerProxy("http://127.0.0.1:" + sys.argv[1])
		print([p.add(i, 1) for i in range(20)])
	EOT
	serve server /usr/bin/python3 server.py "$port"
	await_port "$port"
	ask /usr/bin/python3 client.py "$port"
	ask /usr/bin/python3 rpc.py "$(another)"
}
