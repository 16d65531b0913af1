#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""one_at_a_time: one thread has both ends and accepts one for each event."""
import selectors
import socket

TOGETHER = 50
ALL = 300
SIZE = 50


class Loop:
    def __init__(self):
        self.selector = selectors.EpollSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.begun = self.over = 0

    def begin(self):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(self.listener.getsockname())
        self.selector.register(client, selectors.EVENT_WRITE, self.ask)
        self.begun += 1

    def accept(self, listener):
        server = listener.accept()[0]
        server.setblocking(False)
        self.selector.register(server, selectors.EVENT_READ, self.answer)

    def ask(self, client):
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        assert client.send(bytes(SIZE)) == SIZE
        self.selector.modify(client, selectors.EVENT_READ, self.hear)

    def answer(self, server):
        data = server.recv(2 * SIZE)
        if data:
            server.send(data)
        else:
            self.end(server)

    def hear(self, client):
        assert client.recv(2 * SIZE) == bytes(SIZE)
        self.end(client)
        self.over += 1
        if self.begun < ALL:
            self.begin()

    def end(self, connection):
        self.selector.unregister(connection)
        connection.close()

    def run(self):
        for _ in range(TOGETHER):
            self.begin()
        while self.over < ALL:
            for key, _ in self.selector.select(10):
                key.data(key.fileobj)


Loop().run()
