#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""early: a client that gives its connection to somebody without the engine at
once, and so goes back to TCP before the server has accepted.

usage: early.py		says what each of the two got
"""
import os
import socket
import time

PROPOSAL = 100  # bytes, at most; more is the Decline behind it
PATIENCE = 2  # seconds; without BPF the client may say nothing


def unread(port):
    """Bytes that wait until the connection to that port is accepted."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f.readlines()[1:]:
            word = line.split()
            if word[1].endswith(f":{port:04X}") and word[3] == "01":
                return int(word[4].split(":")[1], 16)
    return 0


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    name = listener.getsockname()
    client = os.fork()
    if client == 0:
        listener.close()
        s = socket.create_connection(name)
        os.dup2(s.fileno(), 0)
        os.dup2(s.fileno(), 1)
        os.execvp("sh", ["sh", "-c", "echo hello; read -r x; echo got $x"])
    end = time.monotonic() + PATIENCE
    while "LD_PRELOAD" in os.environ and unread(name[1]) <= PROPOSAL:
        if time.monotonic() > end:
            break
        time.sleep(0.0005)
    s, _ = listener.accept()
    print(s.recv(6).decode().strip())
    s.sendall(b"answer\n")
    print(s.recv(100).decode().strip())
    s.close()
    os.waitpid(client, 0)


main()
