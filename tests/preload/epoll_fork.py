#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""epoll_fork: instances that go through fork. Says what each process sees.

usage: epoll_fork.py CASE
"""
import os
import select
import signal
import socket
import sys
import time

IN = select.EPOLLIN
PATIENCE = 10  # seconds, for what does come


def echo(listener):
    """Serves until it is killed."""
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
            try:
                data = clients[fd].recv(4096)
            except ConnectionError:
                data = b""
            if data:
                clients[fd].send(data)
            else:
                clients.pop(fd).close()


class Server:
    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = listener.getsockname()[1]
        self.pid = os.fork()
        if self.pid == 0:
            echo(listener)
        listener.close()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.send(b"x")
        assert s.recv(1) == b"x"
        return s

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Child:
    """A process that runs `what`, told when to go on by a pipe."""

    def __init__(self, what):
        self.told, tell = os.pipe()
        hear, self.go_on = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.told)
            os.close(self.go_on)
            self.status = 1
            try:
                what(lambda: os.write(tell, b"."), lambda: os.read(hear, 1))
                self.status = 0
            finally:
                        os._exit(self.status)
        os.close(tell)
        os.close(hear)

    def hear(self):
        os.read(self.told, 1)

    def tell(self):
        os.write(self.go_on, b".")

    def end(self):
        say("child ends with", os.waitpid(self.pid, 0)[1])


def say(*words):
    """One line, in one piece."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def ready(who, ep, names):
    """All that is reported, until it is as many as names, or nothing more."""
    seen = set()
    end = time.monotonic() + PATIENCE
    while len(seen) < len(names) and time.monotonic() < end:
        events = ep.poll(PATIENCE)
        if not events:
            break
        seen |= {(fd, bits) for fd, bits in events}
    say(who, sorted((names.get(fd, fd), bits) for fd, bits in seen))


def both_change(server):
    """The child waits; its parent registers what the child knows nothing of."""
    ep = select.epoll()
    a = server.connect()
    ep.register(a, IN)
    more = []

    def child(tell, wait):
        tell()
        wait()
        events = set()
        while len(events) < 21:
            got = ep.poll(PATIENCE)
            if not got:
                break
            events |= set(got)
        say("child", len(events), {bits for _, bits in events})

    c = Child(child)
    c.hear()
    for _ in range(300):
        more.append(server.connect())
        ep.register(more[-1], IN)
    for s in [a] + more[100:120]:
        s.send(b"hello")
    c.tell()
    while os.waitpid(c.pid, os.WNOHANG) == (0, 0):
        ep.poll(0.01)
    say("parent", len(ep.poll(PATIENCE)))


def comes_while_we_sleep(ep, b):
    """A child that registers b, of which both are told."""

    def child(tell, wait):
        wait()
        ep.register(b, IN)
        b.send(b"hello")
        ready("child", ep, {b.fileno(): "b"})
        tell()
        wait()

    c = Child(child)
    c.tell()
    ready("parent", ep, {b.fileno(): "b"})
    c.hear()
    return c


def asleep(server):
    """The parent sleeps when the child comes."""
    ep = select.epoll()
    a, b = server.connect(), server.connect()
    ep.register(a, IN)

    c = comes_while_we_sleep(ep, b)
    say("parent reads", b.recv(5))
    a.send(b"again")
    ready("parent", ep, {a.fileno(): "a"})
    c.tell()
    c.end()


def plain_asleep(server):
    """The same, and nothing was registered before."""
    ep = select.epoll()
    a, b = server.connect(), server.connect()

    c = comes_while_we_sleep(ep, b)
    ep.register(a, IN)
    a.send(b"again")
    ready("parent", ep, {a.fileno(): "a", b.fileno(): "b"})
    c.tell()
    c.end()


def in_turn(server):
    """Parent and child change what the other one registered."""
    ep = select.epoll()
    a, b = server.connect(), server.connect()
    names = {a.fileno(): "a", b.fileno(): "b"}
    ep.register(a, IN)

    def child(tell, wait):
        ep.modify(a, IN | select.EPOLLOUT)
        ep.register(b, IN | select.EPOLLOUT)
        ready("child", ep, names)
        tell()
        wait()
        ep.unregister(a)
        ready("child", ep, {b.fileno(): "b"})
        tell()

    c = Child(child)
    c.hear()
    ready("parent", ep, names)
    c.tell()
    c.hear()
    ready("parent", ep, {b.fileno(): "b"})
    for s in (a, b):
        s.send(b"hello")
        say(s.recv(5))
    c.end()


def nested(server):
    """An instance in another one, and the child uses both."""
    outer, inner = select.epoll(), select.epoll()
    a, b = server.connect(), server.connect()
    outer.register(inner, IN)
    inner.register(a, IN)
    names = {inner.fileno(): "inner", a.fileno(): "a", b.fileno(): "b"}

    def child(tell, wait):
        wait()
        ready("child", outer, {inner.fileno(): "inner"})
        ready("child", inner, {a.fileno(): "a"})
        inner.register(b, IN)
        tell()

    c = Child(child)
    a.send(b"hello")
    ready("parent", outer, {inner.fileno(): "inner"})
    c.tell()
    c.hear()
    ready("parent", inner, {a.fileno(): "a"})
    a.recv(5)
    b.send(b"hello")
    ready("parent", inner, {b.fileno(): "b"})
    ready("parent", outer, {inner.fileno(): "inner"})
    c.end()


def unread(server):
    """Bytes that lie in the ring when it becomes common."""
    ep = select.epoll()
    a = server.connect()
    ep.register(a, IN)
    a.send(b"hello")
    ready("parent", ep, {a.fileno(): "a"})

    def child(tell, wait):
        ready("child", ep, {a.fileno(): "a"})
        tell()
        wait()

    c = Child(child)
    c.hear()
    ready("parent", ep, {a.fileno(): "a"})
    say(a.recv(3), a.recv(3))
    a.send(b"more")
    ready("parent", ep, {a.fileno(): "a"})
    say(a.recv(9))
    c.tell()
    c.end()


def daemon(server):
    """The loop is made before the forks, and the process that made it ends."""
    told, tell = os.pipe()
    hear, go_on = os.pipe()
    if os.fork() == 0:
        ep = select.epoll()
        a = server.connect()
        ep.register(a, IN)
        for _ in range(2):
            if os.fork() > 0:
                os._exit(0)
        os.read(hear, 1)
        b = server.connect()
        ep.register(b, IN)
        for s in (a, b):
            s.send(b"hello")
        ready("daemon", ep, {a.fileno(): "a", b.fileno(): "b"})
        for s in (a, b):
            say(s.recv(5))
        ready("daemon", ep, {})
        os.write(tell, b".")
        os._exit(0)
    os.close(tell)
    os.wait()
    os.write(go_on, b".")
    os.read(told, 1)


def worker(server):
    """The loop is made before the fork, and the parent does not use it."""
    ep = select.epoll()
    told, _ = os.pipe()
    ep.register(told, IN)

    def child(_tell, _wait):
        a = server.connect()
        ep.register(a, IN)
        a.send(b"hello")
        ready("child", ep, {a.fileno(): "a"})
        say(a.recv(5))

    Child(child).end()
    b = server.connect()
    ep.register(b, IN)
    b.send(b"hello")
    ready("parent", ep, {b.fileno(): "b"})


def listener(_server):
    """Both wait for one listening socket, and register what they accept."""
    ep = select.epoll()
    listening = socket.create_server(("127.0.0.1", 0))
    ep.register(listening, IN)

    def serve(who):
        ready(who, ep, {listening.fileno(): "listener"})
        c, _ = listening.accept()
        ep.register(c, IN)
        ready(who, ep, {c.fileno(): "client"})
        say(who, c.recv(5))
        ep.unregister(c)

    def child(tell, wait):
        wait()
        serve("child")
        tell()

    c = Child(child)
    a, b = socket.socket(), socket.socket()
    a.connect(listening.getsockname())
    a.send(b"first")
    serve("parent")
    b.connect(listening.getsockname())
    b.send(b"next.")
    c.tell()
    c.hear()
    c.end()


def before_connect(server):
    """Registered, then forked, then connected."""
    ep = select.epoll()
    a = socket.socket()
    a.setblocking(False)
    ep.register(a, select.EPOLLOUT)
    c = Child(lambda tell, wait: wait())
    a.connect_ex(("127.0.0.1", server.port))
    select.select([], [a], [])
    ready("parent", ep, {a.fileno(): "a"})
    a.send(b"hello")
    ep.modify(a, IN)
    ready("parent", ep, {a.fileno(): "a"})
    say(a.recv(5))
    c.tell()
    c.end()


def main():
    server = Server()
    try:
        globals()[sys.argv[1]](server)
    finally:
        server.end()


main()
