#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""nested: epoll instances in other instances. Says what the program sees.

usage: nested.py CASE
"""
import os
import select
import signal
import socket
import sys
import threading
import time

IN = select.EPOLLIN
EDGE = select.EPOLLET
PATIENCE = 10  # seconds, for what does come
RACES = 30


class Server:
    """Echoes what any number of clients send."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = listener.getsockname()[1]
        self.pid = os.fork()
        if self.pid == 0:
            serve(listener)
        listener.close()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        ask(s)
        assert s.recv(1) == b"x"
        return s

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def serve(listener):
    ep = select.epoll()
    ep.register(listener, IN)
    clients = {}
    while True:
        for fd, _ in ep.poll():
            if fd == listener.fileno():
                c, _ = listener.accept()
                clients[c.fileno()] = c
                ep.register(c, IN)
                continue
            data = clients[fd].recv(4096)
            if data:
                clients[fd].send(data)
            else:
                clients.pop(fd).close()


def say(*words):
    print(*words, flush=True)


def ask(s, data=b"x"):
    s.send(data)
    select.select([s], [], [])


def told(ep, **names):
    """What is reported, by name."""
    known = {fd.fileno(): name for name, fd in names.items()}
    return sorted((known.get(fd, "?"), bits) for fd, bits in ep.poll(PATIENCE))


def nest(inner, flags=IN):
    outer = select.epoll()
    outer.register(inner, flags)
    return outer


def unread(server):
    """Bytes lie unread; one edge was told, one was not."""
    inner = select.epoll()
    a, b, c = server.connect(), server.connect(), server.connect()
    inner.register(a, IN)
    inner.register(b, IN | EDGE)
    for s in (a, b):
        ask(s, b"hello")
    outer = nest(inner)
    inner.register(c, IN | EDGE)
    say(told(outer, inner=inner), told(inner, a=a, b=b, c=c))
    say(told(outer, inner=inner), told(inner, a=a, b=b, c=c))
    say(a.recv(3), a.recv(9), b.recv(9), outer.poll(0), inner.poll(0))
    for s in (a, b, c):
        ask(s, b"again")
    say(told(outer, inner=inner), told(inner, a=a, b=b, c=c))
    say(a.recv(9), b.recv(9), c.recv(9), outer.poll(0))


def later(server):
    """The inner one has nothing of ours when it is nested."""
    inner = select.epoll()
    outer = nest(inner, IN | EDGE)
    a, b = server.connect(), socket.socket()
    b.setblocking(False)
    inner.register(b, IN)
    b.connect_ex(("127.0.0.1", server.port))
    inner.register(a, IN)
    select.select([], [b], [])
    listener = socket.create_server(("127.0.0.1", 0))
    d = socket.create_connection(listener.getsockname())
    c, _ = listener.accept()
    inner.register(c, IN)
    for s in (a, b, d):
        s.send(b"hello")
    select.select([a], [], [])
    select.select([b], [], [])
    select.select([c], [], [])
    say(told(outer, inner=inner), told(inner, a=a, b=b, c=c))
    say(a.recv(9), b.recv(9), c.recv(9), inner.poll(0))


def asleep(server):
    """Threads sleep in the inner instance while it is nested."""
    inner = select.epoll()
    a = server.connect()
    inner.register(a, IN)
    heard = []
    threads = [
        threading.Thread(target=lambda: heard.append(told(inner, a=a)))
        for _ in range(3)
    ]
    for t in threads:
        t.start()
    time.sleep(0.1)
    outer = nest(inner)
    ask(a, b"hello")
    for t in threads:
        t.join()
    say(heard, told(outer, inner=inner), a.recv(9))
    sleeper = threading.Thread(target=lambda: say(told(outer, inner=inner)))
    sleeper.start()
    ask(a, b"again")
    sleeper.join()
    say(told(inner, a=a), a.recv(9))


def racing(server):
    """A thread registers connections while the instance is nested."""
    some = [server.connect() for _ in range(4)]
    for _ in range(RACES):
        inner = select.epoll()
        inner.register(some[0], IN)
        fresh = server.connect()
        adder = threading.Thread(
            target=lambda i=inner, n=[*some[1:], fresh]: [
                i.register(s, IN) for s in n
            ]
        )
        adder.start()
        outer = nest(inner)
        adder.join()
        ask(fresh)
        assert told(outer, inner=inner) == [("inner", IN)]
        assert told(inner, fresh=fresh) == [("fresh", IN)]
        assert fresh.recv(9) == b"x"
        fresh.close()
        inner.close()
        outer.close()
    say("done")


def killed(server):
    """The peer is gone, and nobody can send what it had left in the ring."""
    inner = select.epoll()
    a = server.connect()
    inner.register(a, IN)
    ask(a, b"hello")
    server.end()
    outer = nest(inner)
    for n in (2, 3, 1):
        say(told(outer, inner=inner), told(inner, a=a), a.recv(n))
    server.__init__()


def polled(server):
    """What stays on SMC: poll() on an instance, and an outer instance."""
    ep, pipes = select.epoll(), select.epoll()
    a = server.connect()
    r, w = os.pipe()
    pipes.register(r, IN)
    ep.register(pipes, IN)
    ep.register(a, IN)
    poll = select.poll()
    poll.register(ep, select.POLLIN)
    say(poll.poll(0), select.select([ep], [], [], 0)[0])
    ask(a)
    say(len(poll.poll(PATIENCE)), told(ep, a=a, pipes=pipes), a.recv(1))
    os.write(w, b".")
    say(len(select.select([ep], [], [])[0]), told(ep, a=a, pipes=pipes))


def main():
    server = Server()
    try:
        globals()[sys.argv[1]](server)
    finally:
        server.end()


main()
