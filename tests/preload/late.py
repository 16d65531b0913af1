#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""late: clients that make no call for long after they connected, while the
server gives its connection to somebody without the engine.

usage: late.py		says what each client got
"""
import os
import socket
import subprocess
import time


def by_exec(s):
    os.dup2(s.fileno(), 0)
    os.dup2(s.fileno(), 1)
    os.execvp("cat", ["cat"])


def by_spawn(s):
    subprocess.run(["cat"], stdin=s, stdout=s, check=True)


def by_message(s):
    give, take = socket.socketpair()
    if os.fork() == 0:
        os.dup2(take.fileno(), 0)
        give.close()
        s.close()
        code = ("import socket, os\n"
                "s = socket.recv_fds(socket.socket(fileno=0), 1, 1)[1][0]\n"
                "os.write(s, os.read(s, 100))")
        os.execvpe("python3", ["python3", "-c", code],
                   dict(os.environ, SMC_R="0"))
    socket.send_fds(give, [b"x"], [s.fileno()])
    s.close()
    os.wait()


def by_fork(s):
    if os.fork() == 0:
        by_exec(s)
    s.close()
    os.wait()


def server(serve):
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        s, _ = listener.accept()
        serve(s)
        os._exit(0)
    name = listener.getsockname()
    listener.close()
    return name


def main():
    ways = (by_exec, by_spawn, by_message, by_fork)
    clients = [socket.create_connection(server(way)) for way in ways]
    # Longer than an engine waits that is owed a word.
    time.sleep(1.5)
    for way, c in zip(ways, clients):
        c.settimeout(60)
        c.sendall(b"hello")
        print(way.__name__, c.recv(100), flush=True)
        c.shutdown(socket.SHUT_WR)
        print(way.__name__, c.recv(100), flush=True)
    for _ in ways:
        os.wait()


main()
