#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# brief: clients that close as soon as they have connected, as checks of health
# do, or end without closing. What the server sees of each is the end of the
# stream, of a peer whose name it knows; nothing else, however the close meets
# our answer.
#
# usage: brief.py CLOSES EXITS		so many of each
import collections
import os
import socket
import sys


def connect(name):
    client = socket.socket()
    client.connect(name)
    return client


def close_all(name, count):
    for _ in range(count):
        connect(name).close()


def seen(server, name):
    try:
        if server.getpeername() != name:
            return "another name"
        error = server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            return "pending " + os.strerror(error)
        if server.recv(10) != b"":
            return "bytes"
        if server.getpeername() != name:
            return "another name at the end"
        state = server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return "its end" if state == 8 else "state %d" % state
    except OSError as e:
        return os.strerror(e.errno)


def in_child(function, *arguments):
    child = os.fork()
    if child == 0:
        function(*arguments)
        os._exit(0)
    return child


def main():
    closes, exits = (int(a) for a in sys.argv[1:])
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    name = listener.getsockname()
    counts = {"closed": collections.Counter(), "exited": collections.Counter()}
    child = in_child(close_all, name, closes)
    for _ in range(closes):
        server, client = listener.accept()
        counts["closed"][seen(server, client)] += 1
        server.close()
    os.waitpid(child, 0)
    for _ in range(exits):
        child = in_child(connect, name)
        server, client = listener.accept()
        counts["exited"][seen(server, client)] += 1
        server.close()
        os.waitpid(child, 0)
    for how, count in counts.items():
        print(how, *sorted("%d: %s" % (n, what) for what, n in count.items()),
              sep="\n  ")


main()
