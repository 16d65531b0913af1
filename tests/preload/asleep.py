# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""asleep: one thread sleeps in recv(), another one in send(), when the program
installs a filter that allows everything. Both calls go on as on TCP.

usage: asleep.py PORT
"""
import ctypes
import os
import socket
import struct
import sys
import threading
import time

BYTES = 8000000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


def confine():
    """BPF_RET | BPF_K, SECCOMP_RET_ALLOW."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(code))
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0) == 0


def client(port):
    """Answers late, and reads late."""
    a, b = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
    for s in (a, b):
        s.send(b"h")
        s.recv(1)
    time.sleep(0.6)
    a.send(b"hello")
    left = BYTES
    while left:
        data = b.recv(65536)
        if not data:
            break
        left -= len(data)
    os._exit(left != 0)


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
pid = os.fork()
if pid == 0:
    client(listener.getsockname()[1])
a, b = (listener.accept()[0] for _ in range(2))
for s in (a, b):
    s.recv(1)
    s.send(b"h")
done = {}
threads = [
    threading.Thread(target=lambda: done.update(read=a.recv(5))),
    threading.Thread(target=lambda: done.update(sent=b.send(bytes(BYTES)))),
]
for t in threads:
    t.start()
time.sleep(0.3)
confine()
for t in threads:
    t.join()
assert done == {"read": b"hello", "sent": BYTES}, done
assert os.waitpid(pid, 0)[1] == 0
