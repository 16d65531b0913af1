# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# forking: a server that forks for each connection, as its parent uses the
# memory of those that have ended again.
#
# usage: forking.py WAY PORT COUNT
#
# The child echoes what it reads, backwards. Then, by WAY, it closes ("close"),
# ends without a close ("exit") or by a signal ("kill"); or it does not read
# before its client has gone and others have come ("linger").
import os
import signal
import socket
import sys
import time

from whole import read_all

way, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
at = ("127.0.0.1", port)
NAP = 0.04


def word(i):
    return f"{i} of {count}, ".encode() * (1 + i % 40)


def linger(c, i):
    time.sleep(NAP)
    # The clients come in their order, and so do the children.
    if read_all(c) != word(i):
        os._exit(1)
    c.close()
    os._exit(0)


def child(c, i):
    if way == "linger":
        linger(c, i)
    c.sendall(c.recv(65536)[::-1])
    if way == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "close":
        c.close()
    os._exit(0)


def server(listener):
    children = []
    for i in range(count):
        c, _ = listener.accept()
        pid = os.fork()
        if pid == 0:
            listener.close()
            child(c, i)
        c.close()
        children.append(pid)
    wanted = signal.SIGKILL if way == "kill" else 0
    for pid in children:
        if os.waitpid(pid, 0)[1] != wanted:
            os._exit(1)
    os._exit(0)


def client(i):
    s = socket.create_connection(at)
    s.sendall(word(i))
    if way != "linger":
        got = read_all(s)
        assert got == word(i)[::-1], (i, got)
    s.close()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(at)
listener.listen(128)
pid = os.fork()
if pid == 0:
    server(listener)
listener.close()
for i in range(count):
    client(i)
status = os.waitpid(pid, 0)[1]
assert status == 0, status
print(count, "connections, all as they should be")
