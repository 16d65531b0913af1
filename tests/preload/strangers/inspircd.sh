# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by strangers.sh
# inspircd: InspIRCd, and clients of Python
# programs: InspIRCd
# needs: inspircd python3
# length: long
# gets: smc=2
stranger() {
	cat >conf <<-EOT
		<server name="irc.test" description="x" network="x">
		<admin name="x" nick="x" email="x@x">
		<bind address="127.0.0.1" port="$port" type="clients">
		<connect allow="*" timeout="60" maxchans="20" localmax="100" globalmax="100" resolvehostnames="no" useident="no">
		<pid file="$place/pid">
	EOT
	chmod 644 conf
	serve server inspircd --nofork --runasroot --config "$place/conf"
	await_port "$port"
	cat >client.py <<-'EOT'
		import socket, sys
		def enter(nick):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    s.sendall(f"NICK {nick}\r\nUSER {nick} 0 * :x\r\n".encode())
		    f = s.makefile("rw", newline="\r\n")
		    until(f, " 376 ", " 422 ")
		    f.write("JOIN #x\r\n"); f.flush()
		    until(f, " 366 ")
		    return f
		def until(f, *words):
		    while True:
		        line = f.readline()
		        if not line: raise SystemExit("the end")
		        if line.startswith("PING"):
		            f.write(line.replace("PING", "PONG")); f.flush()
		        if any(w in line for w in words): return line
		a, b = enter("ann"), enter("bob")
		for k in range(10):
		    a.write(f"PRIVMSG #x :number {k}\r\n"); a.flush()
		    print(until(b, "PRIVMSG").split(" ", 2)[2].strip())
		b.write("QUIT :bye\r\n"); b.flush()
		print(until(b, "ERROR").strip()); print(repr(b.read()))
	EOT
	ask python3 client.py "$port"
}
