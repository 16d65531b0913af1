#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""checks: a proxy that looks whether servers are there: it connects to many of
them, none of which accepts, and gives up those to which it could not write
after LIMIT.

prints how many it gave up, in the best of ROUNDS
"""
import errno
import os
import select
import socket
import time

SERVERS = 12
LIMIT = 0.02  # seconds
ROUNDS = 10


def check(names):
    """The number of those that were late."""
    instance = select.epoll()
    ends = {}
    for name in names:
        end = socket.socket()
        end.setblocking(False)
        assert end.connect_ex(name) in (0, errno.EINPROGRESS)
        instance.register(end, select.EPOLLOUT | select.EPOLLONESHOT)
        ends[end.fileno()] = end
    until = time.monotonic() + LIMIT
    left = LIMIT
    while ends and left > 0:
        told = instance.poll(left)
        left = until - time.monotonic()
        for fd, _ in told if left > 0 else []:
            ends.pop(fd).close()
    return len(ends)


def main():
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=64)
                 for _ in range(SERVERS)]
    names = [listener.getsockname() for listener in listeners]
    out, into = os.pipe()
    least = SERVERS
    for _ in range(ROUNDS):
        if os.fork() == 0:
            for listener in listeners:
                listener.close()
            os.write(into, bytes([check(names)]))
            os._exit(0)
        least = min(least, os.read(out, 1)[0])
        os.wait()
    print(least)


if __name__ == "__main__":
    main()
