#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""records: several writers without a lock, whose records stay whole.

usage: records.py processes|threads

Says how many records came, of each writer in its order.
"""
import os
import socket
import struct
import sys
import threading

WRITERS = 4
RECORDS = 4000


def record(writer, i):
    """Records of many lengths, so that one meets the end of the room."""
    return struct.pack(">HII", 97 + i % 31, writer, i) + b"%*d" % (
        87 + i % 31, i)


def write_all(s, writer):
    for i in range(RECORDS):
        s.sendall(record(writer, i))


def in_processes(s):
    children = []
    for w in range(WRITERS):
        pid = os.fork()
        if pid == 0:
            write_all(s, w)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def in_threads(s):
    threads = [threading.Thread(target=write_all, args=(s, w))
               for w in range(WRITERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def read_all(c):
    following = [0] * WRITERS
    while True:
        head = c.recv(2, socket.MSG_WAITALL)
        if not head:
            return following
        rest = c.recv(struct.unpack(">H", head)[0] - 2, socket.MSG_WAITALL)
        writer, i = struct.unpack(">II", rest[:8])
        assert head + rest == record(writer, i), (writer, i, rest)
        assert following[writer] == i, (writer, i, following)
        following[writer] += 1


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    pid = os.fork()
    if pid == 0:
        s = socket.create_connection(listener.getsockname())
        {"processes": in_processes, "threads": in_threads}[sys.argv[1]](s)
        os._exit(0)
    c, _ = listener.accept()
    print(read_all(c), os.waitpid(pid, 0)[1])


main()
