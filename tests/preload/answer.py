# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""answer: a server that does not wait answers a client which has shut its half
and reads late: TCP takes a megabyte at once, and so must memory.

usage: answer.py port
"""
import os
import socket
import sys
import time

at = ("127.0.0.1", int(sys.argv[1]))
data = bytes(range(256)) * 4096
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(at)
listener.listen(5)
child = os.fork()
if child == 0:
    listener.close()
    s = socket.create_connection(at)
    s.sendall(b"request")
    s.shutdown(socket.SHUT_WR)
    time.sleep(0.5)
    got = b""
    while True:
        part = s.recv(65536)
        if not part:
            break
        got += part
    os._exit(0 if got == data else 1)
s, _ = listener.accept()
while s.recv(100):
    pass
s.setblocking(False)
sent = 0
try:
    while sent < len(data):
        sent += s.send(data[sent:])
except BlockingIOError:
    pass
print("at once", sent, "of", len(data))
at_once = sent == len(data)
s.setblocking(True)
s.sendall(data[sent:])
s.close()
whole = os.waitpid(child, 0)[1] == 0
sys.exit(0 if at_once and whole else 1)
