# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# vnc: Xvnc, and X clients over TCP beside a viewer's handshake
# programs: TigerVNC
# needs: Xtigervnc python3
# length: long
# gets: smc=1
stranger() {
	serve server Xtigervnc :77 -rfbport "$port" -SecurityTypes None -localhost -geometry 640x480 -depth 24
	await_port "$port"
	cat >client.py <<-'EOT'
		import socket, struct, sys, hashlib
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		f = s.makefile("rwb")
		print(f.read(12)); f.write(b"RFB 003.008\n"); f.flush()
		n = f.read(1)[0]; print(f.read(n)); f.write(b"\x01"); f.flush()
		print(f.read(4)); f.write(b"\x01"); f.flush()
		w, h = struct.unpack(">HH", f.read(4)); f.read(16)
		f.read(struct.unpack(">I", f.read(4))[0]); print(w, h)
		f.write(struct.pack(">BxHi", 2, 1, 0))
		f.write(struct.pack(">BBHHHH", 3, 0, 0, 0, w, h)); f.flush()
		t, n = struct.unpack(">BxH", f.read(4)); print(t); sum = 0
		for k in range(n):
		    x, y, a, b, e = struct.unpack(">HHHHi", f.read(12)); sum += a * b; f.read(a * b * 4)
		print(sum)
	EOT
	ask python3 client.py "$port"
}
