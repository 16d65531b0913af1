# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# prosody: XMPP: a client that pings the server
# programs: Prosody
# needs: prosody python3
# length: long
# gets: smc=1 may=TIMEOUT
stranger() {
	cat >conf.lua <<-EOT
		pidfile = "$place/pid"
		data_path = "$place"
		interfaces = { "127.0.0.1" }
		c2s_ports = { $port }
		s2s_ports = { }
		c2s_require_encryption = false
		allow_unencrypted_plain_auth = true
		authentication = "anonymous"
		modules_enabled = { "saslauth", "ping", "disco" }
		run_as_root = true
		log = "*console"
		VirtualHost "localhost"
	EOT
	serve server prosody -F --config "$place/conf.lua"
	await_port "$port"
	cat >c.py <<-'EOT'
		import socket, sys, re
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		def until(p):
		    global b
		    while not re.search(p, b):
		        d = s.recv(4096)
		        if not d: raise SystemExit("closed: %r" % b[-300:])
		        b += d
		    b = b""
		b = b""
		h = b"<stream:stream to='localhost' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
		s.sendall(h); until(b"</stream:features>")
		s.sendall(b"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='ANONYMOUS'/>"); until(b"<success")
		s.sendall(h); until(b"</stream:features>")
		s.sendall(b"<iq type='set' id='1'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"); until(b"</iq>")
		for i in range(100):
		    s.sendall(b"<iq type='get' id='p%d' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>" % i); until(b"p%d" % i)
		s.sendall(b"</stream:stream>"); until(b"</stream:stream>"); print("ok")
	EOT
	ask python3 c.py "$port"
}
