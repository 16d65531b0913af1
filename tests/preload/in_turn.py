#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""in_turn: a server that serves one client after another, each to its end, and
a loop that has begun with all of them: a write to one of those that are not
accepted yet must not keep the loop from the one that is."""
import selectors
import socket
import sys
import time

CLIENTS = 40
WORDS = (b"first", b"second", b"third")


def serve(listener):
    for _ in range(CLIENTS):
        server, _ = listener.accept()
        with server:
            time.sleep(0.005)
            for word in WORDS:
                assert server.recv(20) == word
                server.sendall(word)


class Client:
    def __init__(self, address):
        self.words = list(WORDS)
        self.heard = b""
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(address)

    def write(self, selector):
        word = self.words[0]
        assert self.socket.send(word) == len(word)
        selector.modify(self.socket, selectors.EVENT_READ, self.read)

    def read(self, selector):
        data = self.socket.recv(20)
        self.heard += data
        if self.words and self.heard == self.words[0]:
            self.heard = b""
            self.words.pop(0)
            if self.words:
                self.write(selector)
        if not data:
            assert not self.words
            selector.unregister(self.socket)
            self.socket.close()


def main(port):
    selector = selectors.EpollSelector()
    clients = [Client(("127.0.0.1", port)) for _ in range(CLIENTS)]
    for client in clients:
        selector.register(client.socket, selectors.EVENT_WRITE, client.write)
    while selector.get_map():
        for key, _ in selector.select():
            key.data(selector)
    print("well")


if sys.argv[1] == "serve":
    with socket.create_server(
        ("127.0.0.1", int(sys.argv[2])), backlog=CLIENTS
    ) as open_one:
        serve(open_one)
else:
    main(int(sys.argv[2]))
