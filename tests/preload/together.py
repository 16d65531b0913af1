#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""together: a program that waits for a pipe and a connection, and sleeps while
both become ready, is told of both at once: one that closes what it was not told
of would lose a request.

Both processes are on one processor, and the one that waits gets it only when
the other one has nothing to do.

usage: together.py WAY		WAY: epoll, poll or select
prints in how many of ROUNDS the pipe was told of alone
"""
import os
import select
import socket
import sys
import time

ROUNDS = 200
ASLEEP = 0.002  # seconds, after which the other one sleeps


def waiter(way, fds):
    if way == "select":
        return lambda: select.select(fds, [], [])[0]
    instance = select.epoll() if way == "epoll" else select.poll()
    for fd in fds:
        instance.register(fd, select.POLLIN)
    return lambda: [fd for fd, _ in instance.poll()]


def serve(way, listener, pipe):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    connection, _ = listener.accept()
    assert connection.recv(1) == b"-"
    wait = waiter(way, [pipe, connection.fileno()])
    alone = 0
    for _ in range(ROUNDS):
        heard = set()
        while len(heard) < 2:
            told = wait()
            if told == [pipe] and not heard:
                alone += 1
            for fd in told:
                assert os.read(fd, 1) == b"x"
                heard.add(fd)
        connection.sendall(b".")
    return alone


def main():
    way = sys.argv[1]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    listener = socket.create_server(("127.0.0.1", 0))
    out, into = os.pipe()
    server = os.fork()
    if server == 0:
        print(serve(way, listener, out), flush=True)
        os._exit(0)
    client = socket.create_connection(listener.getsockname())
    client.sendall(b"-")
    for _ in range(ROUNDS):
        time.sleep(ASLEEP)
        os.write(into, b"x")
        client.sendall(b"x")
        assert client.recv(1) == b"."
    assert os.waitpid(server, 0)[1] == 0


main()
