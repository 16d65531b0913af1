#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""away: a server that has not looked for a while finds a pipe and a connection
that became ready meanwhile, and is told first of the one that was first.

usage: away.py SECONDS		time-out of the server's epoll_wait; -1: none
prints in how many of ROUNDS they were told in the other order
"""
import os
import select
import socket
import sys
import time

ROUNDS = 20
PAUSE = 0.05  # seconds between the two


def serve(timeout, listener, pipe, ready, done):
    connections = [listener.accept()[0] for _ in range(2)]
    instance = select.epoll()
    for fd in [pipe] + [c.fileno() for c in connections]:
        instance.register(fd, select.EPOLLIN)
    # The handshakes are over.
    for connection in connections:
        assert connection.recv(1) == b"-"
    wrong = 0
    for i in range(ROUNDS):
        expected = [pipe, connections[0].fileno()]
        if i % 2:
            expected.reverse()
        assert instance.poll(0) == []
        os.write(ready, b"x")
        os.read(done, 1)
        told = [fd for fd, _ in instance.poll(timeout)]
        if sorted(told) != sorted(expected):
            sys.exit(f"told of {told}, not of {expected}")
        wrong += told != expected
        for fd in told:
            assert os.read(fd, 1) == b"x"
    return wrong


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    out, into = os.pipe()
    ready, is_ready = os.pipe()
    done, is_done = os.pipe()
    server = os.fork()
    if server == 0:
        print(serve(float(sys.argv[1]), listener, out, is_ready, done))
        sys.stdout.flush()
        os._exit(0)
    clients = [socket.create_connection(listener.getsockname()) for _ in "ab"]
    for client in clients:
        client.sendall(b"-")
    for i in range(ROUNDS):
        first, second = into, clients[0].fileno()
        if i % 2:
            first, second = second, first
        os.read(ready, 1)
        os.write(first, b"x")
        time.sleep(PAUSE)
        os.write(second, b"x")
        os.write(is_done, b"x")
    assert os.waitpid(server, 0)[1] == 0


main()
