# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# zeromq: REQ/REP, PUB/SUB and PUSH/PULL over tcp
# programs: ZeroMQ
# needs: /usr/bin/python3 /usr/lib/python3/dist-packages/zmq
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	cat >server.py <<-'EOT'
		import sys, zmq
		c = zmq.Context()
		r = c.socket(zmq.REP); r.bind("tcp://127.0.0.1:" + sys.argv[1])
		p = c.socket(zmq.PUB); p.bind("tcp://127.0.0.1:" + sys.argv[2])
		while True:
		    m = r.recv()
		    r.send(m[::-1])
		    if m == b"publish":
		        for i in range(300):
		            p.send_multipart([b"t", b"%d" % i * 100])
	EOT
	cat >client.py <<-'EOT'
		import hashlib, sys, threading, time, zmq
		c = zmq.Context()
		def one(i, out):
		    r = c.socket(zmq.REQ); r.connect("tcp://127.0.0.1:" + sys.argv[1])
		    for j in range(40):
		        m = bytes([i]) + b"%d" % j * (j * 500)
		        r.send(m); assert r.recv() == m[::-1]
		    out.append(i); r.close()
		out = []
		t = [threading.Thread(target=one, args=(i, out)) for i in range(4)]
		[x.start() for x in t]; [x.join() for x in t]
		print(sorted(out))
		s = c.socket(zmq.SUB); s.setsockopt(zmq.SUBSCRIBE, b"t"); s.connect("tcp://127.0.0.1:" + sys.argv[2])
		time.sleep(0.5)
		r = c.socket(zmq.REQ); r.connect("tcp://127.0.0.1:" + sys.argv[1]); r.send(b"publish"); r.recv()
		h = hashlib.sha256()
		for i in range(300):
		    h.update(s.recv_multipart()[1])
		print(h.hexdigest())
		c.destroy(linger=100)
	EOT
	local p
	p=$(another)
	serve server /usr/bin/python3 server.py "$port" "$p"
	await_port "$port" && await_port "$p"
	ask /usr/bin/python3 client.py "$port" "$p"
}
