# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# websockets: Python's websockets, rpyc, paramiko with asyncssh
# programs: websockets, rpyc, asyncssh, paramiko
# needs: /usr/lib/python3/dist-packages/websockets /usr/lib/python3/dist-packages/rpyc /usr/lib/python3/dist-packages/asyncssh /usr/lib/python3/dist-packages/paramiko
# length: long
# gets: smc=4 may=TIMEOUT,CLOSED
stranger() {
	cat >ws.py <<-'EOT'
		import asyncio, hashlib, sys, websockets
		async def echo(ws, *path):
		    async for m in ws:
		        await ws.send(m)
		async def main():
		    async with websockets.serve(echo, "127.0.0.1", 0, max_size=None) as s:
		        port = s.sockets[0].getsockname()[1]
		        async def one(i):
		            async with websockets.connect(f"ws://127.0.0.1:{port}/", max_size=None) as c:
		                h = hashlib.sha256()
		                for k in range(20):
		                    await c.send(bytes([i]) * (k * 9999))
		                    h.update(await c.recv())
		                return h.hexdigest()
		        print(await asyncio.gather(*(one(i) for i in range(8))))
		asyncio.run(main())
	EOT
	cat >rp.py <<-'EOT'
		import rpyc, threading, time
		from rpyc.utils.server import ThreadedServer
		class S(rpyc.Service):
		    def exposed_add(self, a, b): return a + b
		    def exposed_call(self, f, n): return [f(i) for i in range(n)]
		t = ThreadedServer(S, hostname="127.0.0.1", port=0)
		threading.Thread(target=t.start, daemon=True).start()
		while not t.active: time.sleep(0.01)
		c = rpyc.connect("127.0.0.1", t.port)
		print(c.root.add(1, 2), c.root.add("a" * 300000, "b")[-2:])
		print(list(c.root.call(lambda i: i * i, 20)))
		c.close()
	EOT
	cat >ssh.py <<-'EOT'
		import asyncio, asyncssh, paramiko, sys
		async def run(p):
		    p.stdout.write("you said " + p.command + "\n" + "x" * 500000)
		    p.exit(3)
		class Server(asyncssh.SSHServer):
		    def begin_auth(self, name): return False
		async def main():
		    key = asyncssh.generate_private_key("ssh-ed25519")
		    port = int(sys.argv[1])
		    s = await asyncssh.create_server(Server, "127.0.0.1", port, server_host_keys=[key], process_factory=run)
		    async with asyncssh.connect("127.0.0.1", port, known_hosts=None, username="u", config=None) as c:
		        r = await c.run("one")
		        print(r.stdout[:12], len(r.stdout), r.exit_status)
		    def other():
		        c = paramiko.Transport(("127.0.0.1", port)); c.start_client()
		        c.auth_none("u")
		        ch = c.open_session(); ch.exec_command("two")
		        got = b""
		        while d := ch.recv(10000): got += d
		        print(got[:12], len(got), ch.recv_exit_status()); c.close()
		    await asyncio.to_thread(other)
		asyncio.run(main())
	EOT
	local i
	for i in ws rp ssh; do ask /usr/bin/python3 $i.py "$port" 2>$i.log; done
}
