#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""killed_idle: a server that is killed between two requests.

usage: killed_idle.py PORT

Nothing that the client had sent was unread: so the client, which makes no call
until it sends the next request, finds the end of file behind that, and no reset.
Ten servers each that sleep in recv(), in epoll_wait(), and in something else;
clients with an epoll instance, and without. Prints what each client got.
"""
import os
import select
import signal
import socket
import sys
import time


def serve(listener, way):
    s, _ = listener.accept()
    ep = select.epoll()
    if way == "epoll":
        ep.register(s, select.EPOLLIN)
    while True:
        if way == "epoll":
            ep.poll()
        s.send(s.recv(10))
        if way == "pause":
            signal.pause()


def play(listener, way, registers):
    pid = os.fork()
    if pid == 0:
        serve(listener, way)
    c = socket.create_connection(listener.getsockname())
    ep = select.epoll()
    if registers:
        ep.register(c, select.EPOLLIN)
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
    for i in range(30):
        print(play(listener, ("recv", "epoll", "pause")[i % 3], i % 2))


main()
