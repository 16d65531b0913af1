#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""flooded: a stranger fills the queue at which a client's servers come.

usage: flooded.py

A client has a server, then a stranger connects to its peer ID until nobody can
any more, and is gone. Then the client has four servers more, each a process.
"""
import errno
import glob
import os
import socket


def talk():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        s = listener.accept()[0]
        s.send(s.recv(1))
        s.recv(1)
        os._exit(0)
    s = socket.create_connection(listener.getsockname())
    listener.close()
    s.send(b"x")
    assert s.recv(1) == b"x"
    s.close()
    os.waitpid(server, 0)


def fill(path):
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        try:
            s.connect(path)
        except OSError as e:
            return e.errno == errno.EAGAIN
        s.close()


def main():
    talk()
    paths = glob.glob(os.environ["SMC_R_RUNDIR"] + "/users/*/peer/*")
    pid = os.fork()
    if pid == 0:
        os._exit(not any([fill(path) for path in paths]))
    assert os.waitpid(pid, 0)[1] == 0
    for _ in range(4):
        talk()


main()
