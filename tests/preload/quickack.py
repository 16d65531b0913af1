#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""quickack: whether TCP would delay its ACKs on a connection without dialogue.

usage: quickack.py

Urgent data goes from one process to another, which keeps, or moves, their
connection to TCP. Says what TCP_QUICKACK is where it was received.
"""
import os
import socket


def server(listener):
    s, _ = listener.accept()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    s.recv(1)
    print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


def client(port):
    s = socket.create_connection(("127.0.0.1", port))
    s.send(b"!", socket.MSG_OOB)
    s.recv(1)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        client(listener.getsockname()[1])
        os._exit(0)
    server(listener)
    os.waitpid(child, 0)


main()
