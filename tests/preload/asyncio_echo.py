#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""asyncio_echo: one event loop is an echo server and its ten clients."""
import asyncio
import hashlib
import random

CLIENTS = 10
SIZE = 700000


async def echo(reader, writer):
    while data := await reader.read(20000):
        writer.write(data)
        await writer.drain()
    writer.close()


async def ask(number, port):
    data = random.Random(number).randbytes(SIZE)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send():
        writer.write(data)
        await writer.drain()
        writer.write_eof()

    sending = asyncio.ensure_future(send())
    got = await reader.read()
    await sending
    writer.close()
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        await asyncio.wait_for(
            asyncio.gather(*(ask(n, port) for n in range(CLIENTS))), 60
        )
    print("all echoes are right")


asyncio.run(main())
