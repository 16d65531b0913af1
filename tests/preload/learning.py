# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A server of echoes, and loads: connections that are short, or long.

    learning.py serve PORT [threads]
    learning.py serve PORT children: one serves each connection, and exits
    learning.py serve PORT forks OTHER: a child for a task: it runs programs,
        forks, and talks to the server at OTHER
    learning.py short PORT COUNT [PAUSE]: each one asks once
    learning.py long PORT COUNT: one connection that asks so often
    learning.py mixed PORT COUNT: the short ones, beside a long one
    learning.py task PORT: asks a child for that
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

HOST = "127.0.0.1"
TASK = b"!" * 64


def answer(c):
    with c:
        while data := c.recv(65536):
            c.sendall(data)


def do_task(other):
    assert subprocess.run(["true"], close_fds=True).returncode == 0
    assert os.system("exit 3") >> 8 == 3
    with socket.create_connection((HOST, other)) as to:
        ask(to)
        if os.fork() == 0:
            os._exit(0)
        ask(to)
        said = subprocess.run(["entstat", "-d", "smc_r0"],
                              capture_output=True, text=True).stdout
        assert any(line.startswith("ACTIVE") and f":{other} " in line
                   for line in said.splitlines()), said


def answer_or_fork(server, c, other):
    with c:
        request = c.recv(64, socket.MSG_WAITALL)
        if request == TASK and os.fork():
            return
        if request == TASK:
            # The child of vfork() closes the number of the listener.
            assert subprocess.run(["true"], close_fds=True).returncode == 0
            number = server.fileno()
            server.close()
            # Its number is any number, and ours are still not the program's.
            with open("/dev/zero", "rb", buffering=0) as file:
                assert file.fileno() == number and file.read(2) == b"\0\0"
            os.closerange(1000, 9000)
            do_task(other)
        c.sendall(request)
        if request == TASK:
            os._exit(0)


def answer_and_exit(c):
    if os.fork():
        c.close()
        return
    while data := c.recv(65536):
        c.sendall(data)
    # The kernel closes it.
    c.detach()
    sys.exit()


def serve(port, kind="", other="0"):
    server = socket.create_server((HOST, port), backlog=128)
    if kind == "children":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        c, _ = server.accept()
        if kind == "threads":
            threading.Thread(target=answer, args=(c,), daemon=True).start()
        elif kind == "forks":
            answer_or_fork(server, c, int(other))
        elif kind == "children":
            answer_and_exit(c)
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


def task(port):
    with socket.create_connection((HOST, port)) as c:
        c.sendall(TASK)
        assert c.recv(64, socket.MSG_WAITALL) == TASK


def mixed(port, count):
    with socket.create_connection((HOST, port)) as c:
        ask(c)
        for _ in range(int(count)):
            short(port, 1)
            ask(c)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]), *sys.argv[3:])
