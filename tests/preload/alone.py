#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""alone: the only thread writes more than a ring holds, and reads after that.
Usage: alone.py block|poll|select|epoll"""
import select
import socket
import sys

SIZE = 2400000


def wait(how, end):
    if how == "poll":
        poll = select.poll()
        poll.register(end, select.POLLOUT)
        poll.poll()
    elif how == "select":
        select.select([], [end], [])
    else:
        with select.epoll() as instance:
            instance.register(end, select.EPOLLOUT)
            instance.poll()


def send(how, end, data):
    while data:
        try:
            data = data[end.send(data):]
        except BlockingIOError:
            wait(how, end)


def main(how):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server = listener.accept()[0]
    client.send(b"begin")
    assert server.recv(5) == b"begin"
    data = bytes(range(250)) * (SIZE // 250)
    client.setblocking(how == "block")
    send(how, client, data)
    client.close()
    got = b""
    while piece := server.recv(100000):
        got += piece
    assert got == data


main(sys.argv[1])
