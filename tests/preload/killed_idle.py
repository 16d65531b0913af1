#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""killed_idle: a server that is killed while it waits for the next request.

usage: killed_idle.py PORT

Nothing that the client had sent was unread: so the client, which makes no call
until it sends the next request, finds the end of file behind that, and no reset.
Ten servers that sleep in recv(), and ten in epoll_wait(); prints what each
client got.
"""
import os
import select
import signal
import socket
import sys
import time


def serve(listener, polls):
    s, _ = listener.accept()
    ep = select.epoll()
    if polls:
        ep.register(s, select.EPOLLIN)
    while True:
        if polls:
            ep.poll()
        s.send(s.recv(10))


def play(listener, polls):
    pid = os.fork()
    if pid == 0:
        serve(listener, polls)
    c = socket.create_connection(listener.getsockname())
    c.sendall(b"a")
    assert c.recv(1) == b"a"
    time.sleep(0.02)  # it goes to sleep
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    c.sendall(b"next")
    try:
        return repr(c.recv(10))
    except OSError as e:
        return type(e).__name__


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    for i in range(20):
        print(play(listener, i % 2))


main()
