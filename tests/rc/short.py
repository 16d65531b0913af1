#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""short: connections of one message there and back, one after the other. Both
ends close at the same time, when their service sleeps.

usage: short.py CONNECTIONS
"""
import os
import socket
import sys
import time

MESSAGE = b"m" * 50
PATIENCE_S = 5
ASLEEP_S = 0.001


def leave(c, until):
    while time.monotonic() < until:
        pass
    c.close()


def answer(listener, count):
    for _ in range(count):
        c = listener.accept()[0]
        c.settimeout(PATIENCE_S)
        c.sendall(c.recv(len(MESSAGE)))
        leave(c, time.monotonic() + ASLEEP_S)


def ask(address, count):
    for i in range(count):
        c = socket.create_connection(address)
        c.settimeout(PATIENCE_S)
        c.sendall(MESSAGE)
        try:
            if c.recv(len(MESSAGE)) != MESSAGE:
                return f"connection {i}: another answer"
        except OSError as e:
            return f"connection {i}: {e}"
        leave(c, time.monotonic() + ASLEEP_S)
    return 0


def main():
    count = int(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 5401))
    if os.fork():
        return ask(listener.getsockname(), count)
    answer(listener, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
