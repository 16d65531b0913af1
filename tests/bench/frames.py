# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""frames: large WebSocket messages from several clients at once, and back.

Either end is one event loop. It compresses all of its messages, which takes
most of the time, before it looks for room in any socket again.

	frames.py serve PORT
	frames.py ask PORT CLIENTS BYTES SECONDS	messages a second
"""
import asyncio
import random
import sys
import time

import websockets


async def echo(connection):
    async for message in connection:
        await connection.send(message)


async def serve(port):
    async with websockets.serve(echo, "127.0.0.1", port, max_size=None):
        await asyncio.Future()


async def exchange(connection, message):
    await connection.send(message)
    if await connection.recv() != message:
        sys.exit("frames: another message came back")


async def ask(port, clients, size, seconds):
    messages = [random.Random(i).randbytes(size) for i in range(clients)]
    connections = [await websockets.connect(f"ws://127.0.0.1:{port}",
                                            max_size=None)
                   for _ in messages]
    rounds = 0
    begin = time.monotonic()
    while rounds == 0 or time.monotonic() - begin < seconds:
        await asyncio.gather(*map(exchange, connections, messages))
        rounds += 1
    print(rounds * clients / (time.monotonic() - begin))
    for connection in connections:
        await connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(int(sys.argv[2])))
    else:
        asyncio.run(ask(*map(int, sys.argv[2:5]), float(sys.argv[5])))
