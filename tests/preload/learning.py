# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A server of echoes, and loads: connections that are short, or long.

    learning.py serve PORT [threads]
    learning.py short PORT COUNT [PAUSE]: each one asks once
    learning.py long PORT COUNT: one connection that asks so often
    learning.py mixed PORT COUNT: the short ones, beside a long one
"""

import socket
import sys
import threading
import time

HOST = "127.0.0.1"


def answer(c):
    with c:
        while data := c.recv(65536):
            c.sendall(data)


def serve(port, kind=""):
    server = socket.create_server((HOST, port), backlog=128)
    while True:
        c, _ = server.accept()
        if kind == "threads":
            threading.Thread(target=answer, args=(c,), daemon=True).start()
        else:
            answer(c)


def ask(c):
    c.sendall(b"?" * 64)
    assert c.recv(64, socket.MSG_WAITALL) == b"?" * 64


def short(port, count, pause="0"):
    for _ in range(int(count)):
        with socket.create_connection((HOST, port)) as c:
            ask(c)
        if float(pause):
            time.sleep(float(pause))


def long(port, count):
    with socket.create_connection((HOST, port)) as c:
        for _ in range(int(count)):
            ask(c)


def mixed(port, count):
    with socket.create_connection((HOST, port)) as c:
        ask(c)
        for _ in range(int(count)):
            short(port, 1)
            ask(c)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]), *sys.argv[3:])
