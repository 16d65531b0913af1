#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""backlog: one thread connects many times to itself, and asks each of them at
once whether it can be written to; it accepts after that.
Usage: backlog.py poll|select|epoll MILLISECONDS CONNECTIONS"""
import select
import socket
import sys


def can_write(how, end, ms):
    if how == "poll":
        poll = select.poll()
        poll.register(end, select.POLLIN | select.POLLOUT)
        return poll.poll(ms)[0][1] == select.POLLOUT
    if how == "select":
        return select.select([end], [end], [], ms / 1000)[1] == [end]
    with select.epoll() as instance:
        instance.register(end, select.EPOLLIN | select.EPOLLOUT)
        return instance.poll(ms / 1000)[0][1] == select.EPOLLOUT


def main(how, ms, count):
    clients = []
    with socket.create_server(("127.0.0.1", 0), backlog=count) as listener:
        for _ in range(count):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            assert can_write(how, client, ms)
            clients.append(client)
        servers = {}
        for _ in range(count):
            server, name = listener.accept()
            servers[name] = server
    for i, client in enumerate(clients):
        server = servers[client.getsockname()]
        client.setblocking(True)
        client.send(b"%d" % i)
        assert server.recv(10) == b"%d" % i
        server.send(b"and %d" % i)
        assert client.recv(10) == b"and %d" % i
    print("well")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
