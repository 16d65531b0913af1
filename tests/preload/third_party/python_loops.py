# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""python_loops: an echo server for each event loop, and clients for them.

usage: python_loops.py asyncio|uvloop|gevent|twisted|tornado|trio|aiohttp PORT
       python_loops.py client|aclient|gclient|hclient PORT
"""
import hashlib
import sys

KIND, PORT = sys.argv[1], int(sys.argv[2])
HOST = "127.0.0.1"
MESSAGES = [bytes([i % 251]) * (i * i * 7 + 1) for i in range(150)]


async def serve(reader, writer):
    while True:
        data = await reader.read(65536)
        if not data:
            break
        writer.write(data)
        await writer.drain()
    writer.close()


async def asyncio_server():
    import asyncio

    server = await asyncio.start_server(serve, HOST, PORT)
    await server.serve_forever()


def run_asyncio():
    import asyncio

    asyncio.run(asyncio_server())


def run_uvloop():
    import uvloop

    uvloop.install()
    run_asyncio()


def run_gevent():
    from gevent.server import StreamServer

    def handle(sock, _):
        while True:
            data = sock.recv(65536)
            if not data:
                return
            sock.sendall(data)

    StreamServer((HOST, PORT), handle).serve_forever()


def run_twisted():
    from twisted.internet import protocol, reactor

    class Echo(protocol.Protocol):
        def dataReceived(self, data):
            self.transport.write(data)

    factory = protocol.Factory()
    factory.protocol = Echo
    reactor.listenTCP(PORT, factory, interface=HOST)
    reactor.run()


def run_tornado():
    import asyncio

    from tornado.iostream import StreamClosedError
    from tornado.tcpserver import TCPServer

    class Echo(TCPServer):
        async def handle_stream(self, stream, address):
            try:
                while True:
                    await stream.write(
                        await stream.read_bytes(65536, partial=True)
                    )
            except StreamClosedError:
                pass

    async def main():
        Echo().listen(PORT, address=HOST)
        await asyncio.Event().wait()

    asyncio.run(main())


def run_trio():
    import trio

    async def handle(stream):
        async for data in stream:
            await stream.send_all(data)

    trio.run(lambda: trio.serve_tcp(handle, PORT, host=HOST))


def run_aiohttp():
    from aiohttp import web

    async def page(request):
        return web.Response(body=b"x" * 1000000)

    async def socket(request):
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        async for message in ws:
            await ws.send_str(message.data[::-1])
        return ws

    app = web.Application()
    app.add_routes([web.get("/", page), web.get("/ws", socket)])
    web.run_app(app, host=HOST, port=PORT, print=None)


def run_client():
    import socket

    total = hashlib.sha256()
    with socket.create_connection((HOST, PORT)) as s:
        for m in MESSAGES[:60]:
            s.sendall(m)
            got = b""
            while len(got) < len(m):
                got += s.recv(100000)
            total.update(got)
        s.shutdown(socket.SHUT_WR)
        print(total.hexdigest(), s.recv(10))


async def one_client():
    import asyncio

    reader, writer = await asyncio.open_connection(HOST, PORT)

    async def send():
        for m in MESSAGES:
            writer.write(m)
            await writer.drain()

    task = asyncio.ensure_future(send())
    total = hashlib.sha256(
        await reader.readexactly(sum(len(m) for m in MESSAGES))
    ).hexdigest()
    await task
    writer.close()
    await writer.wait_closed()
    return total


def run_aclient():
    import asyncio

    async def main():
        return await asyncio.gather(*[one_client() for _ in range(5)])

    print(*set(asyncio.run(main())))


def run_gclient():
    import gevent
    from gevent import socket

    def one():
        s = socket.create_connection((HOST, PORT))
        job = gevent.spawn(lambda: [s.sendall(m) for m in MESSAGES])
        left = sum(len(m) for m in MESSAGES)
        total = hashlib.sha256()
        while left:
            data = s.recv(65536)
            total.update(data)
            left -= len(data)
        job.join()
        s.close()
        return total.hexdigest()

    jobs = [gevent.spawn(one) for _ in range(5)]
    gevent.joinall(jobs)
    print(*{j.value for j in jobs})


def run_hclient():
    import asyncio

    import aiohttp

    async def main():
        url = f"http://{HOST}:{PORT}"
        async with aiohttp.ClientSession() as s:
            async def get():
                async with s.get(url + "/") as r:
                    return len(await r.read())

            print(await asyncio.gather(*[get() for _ in range(10)]))
            async with s.ws_connect(url + "/ws") as ws:
                for i in range(50):
                    await ws.send_str("abc" * i)
                    assert (await ws.receive()).data == "cba" * i
            print("websocket")

    asyncio.run(main())


globals()["run_" + KIND]()
