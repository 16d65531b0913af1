#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memcached_client: eight threads set and get values and compare their sums.

usage: memcached_client.py PORT
"""
import hashlib
import random
import socket
import sys
import threading

THREADS = 8
VALUES = 60


def line(f):
    return f.readline().rstrip(b"\r\n")


def work(number, port, failures):
    choice = random.Random(number)
    with socket.create_connection(("127.0.0.1", port)) as s:
        f = s.makefile("rb")
        sums = {}
        for i in range(VALUES):
            key = b"t%d.%d" % (number, i)
            value = choice.randbytes(choice.choice((10, 1000, 8192, 60000)))
            sums[key] = hashlib.sha256(value).digest()
            s.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
            if line(f) != b"STORED":
                failures.append(f"{key}: not stored")
        for key, want in sums.items():
            s.sendall(b"get %s\r\n" % key)
            head = line(f).split()
            value = f.read(int(head[3]))
            if line(f) != b"" or line(f) != b"END":
                failures.append(f"{key}: bad frame")
            if hashlib.sha256(value).digest() != want:
                failures.append(f"{key}: wrong bytes")


def main():
    failures = []
    threads = [
        threading.Thread(target=work, args=(n, int(sys.argv[1]), failures))
        for n in range(THREADS)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("\n".join(failures) or "all values are right")
    return 1 if failures else 0


sys.exit(main())
