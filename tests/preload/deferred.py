#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""deferred: listeners with TCP_DEFER_ACCEPT, their servers and clients.

usage: deferred.py NAME...	plays; says what programs saw. No NAME: all
"""
import array
import os
import select
import socket
import struct
import sys
import threading
import time

DEFER = socket.TCP_DEFER_ACCEPT


def listener(seconds=30, after=False):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    if not after:
        s.setsockopt(socket.IPPROTO_TCP, DEFER, seconds)
    s.listen(64)
    if after:
        s.setsockopt(socket.IPPROTO_TCP, DEFER, seconds)
    return s


def client(server):
    return socket.create_connection(server.getsockname())


def ready(s, seconds=0.0):
    return bool(select.select([s], [], [], seconds)[0])


def closes_on_eagain():
    """Accepts, reads without waiting, and closes a client that was silent."""
    server = listener()
    empty = 0

    def serve():
        nonlocal empty
        for _ in range(60):
            s, _ = server.accept()
            try:
                s.send(s.recv(100, socket.MSG_DONTWAIT))
            except BlockingIOError:
                empty += 1
            s.close()

    t = threading.Thread(target=serve)
    t.start()
    if os.fork() == 0:
        good = 0
        for i in range(60):
            # Few at a time: none is silent for too long.
            if i % 4 == 0:
                clients = [client(server) for _ in range(4)]
            c = clients[i % 4]
            c.setblocking(i % 2 == 0)
            c.send(b"%d" % i)
            c.setblocking(True)
            good += c.recv(100) == b"%d" % i
        print(good, "answers", flush=True)
        os._exit(0)
    t.join()
    os.wait()
    print(empty, "empty")


def event_loop():
    """Clients of one event loop, edge-triggered."""
    server = listener()
    if os.fork() == 0:
        for _ in range(40):
            s, _ = server.accept()
            s.send(s.recv(100, socket.MSG_DONTWAIT) * 2)
            s.close()
        os._exit(0)
    name = server.getsockname()
    server.close()
    poll = select.epoll()
    clients = {}
    for i in range(40):
        c = socket.socket()
        c.setblocking(False)
        poll.register(c, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        c.connect_ex(name)
        clients[c.fileno()] = [c, i, b""]
    told = 0
    deadline = time.monotonic() + 60
    answers = 0
    while answers < 40 and time.monotonic() < deadline:
        for fd, events in poll.poll(1):
            c, i, seen = clients[fd]
            if events & select.EPOLLOUT and not seen and i >= 0:
                told += 1
                clients[fd][1] = -1
                c.send(b"ask")
            if events & select.EPOLLIN:
                data = c.recv(100)
                clients[fd][2] += data
                answers += data == b"askask"
    os.wait()
    print(told, "writable,", answers, "answers")


def idle():
    """A silent client is not there, until it says something."""
    server = listener()
    first = client(server)
    print("idle:", ready(server, 0.1))
    second = client(server)
    if os.fork() == 0:
        second.send(b"second")
        print(second.recv(10), flush=True)
        os._exit(0)
    s, name = server.accept()
    print(name == second.getsockname(), s.recv(10))
    s.send(b"for you")
    os.wait()
    print("idle:", ready(server, 0.05))
    if os.fork() == 0:
        first.send(b"first")
        os._exit(0)
    s, name = server.accept()
    print(name == first.getsockname(), s.recv(10))
    os.wait()


def late():
    """The time is over: the server speaks to a client that has not."""
    server = listener(1)
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        c = client(server)
        first = c.recv(10)
        c.send(b"so late")
        print(first, c.recv(10), flush=True)
        os._exit(0)
    s, _ = server.accept()
    print("after a second", time.monotonic() - start > 0.9)
    start = time.monotonic()
    s.send(b"hello")
    # A handshake that is waited for in vain would take longer.
    print("at once", time.monotonic() - start < 4)
    print(s.recv(10), flush=True)
    s.send(b"bye")
    os.wait()


def heir():
    """A silent client whose server has become another program."""
    server = listener(1)
    c = client(server)
    pid = os.fork()
    if pid == 0:
        s, _ = server.accept()
        os.dup2(s.fileno(), 0)
        os.dup2(s.fileno(), 1)
        os.execvpe("cat", ["cat"], dict(os.environ, SMC_R="0"))
    time.sleep(1.5)
    c.send(b"meow")
    print(c.recv(10))
    c.shutdown(socket.SHUT_WR)
    os.waitpid(pid, 0)


def ends():
    """Clients that end, in their ways, without a byte."""
    server = listener()
    c = client(server)
    c.close()
    print(ready(server, 1), server.accept()[0].recv(1))
    c = client(server)
    c.shutdown(socket.SHUT_WR)
    s, _ = server.accept()
    print(s.recv(1))
    s.send(b"all the same")
    print(c.recv(100))
    c = client(server)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
    print(ready(server, 0.05))
    c = client(server)
    c.send(b"!", socket.MSG_OOB)
    s, _ = server.accept()
    print(s.recv(1, socket.MSG_OOB))
    c = client(server)
    if os.fork() == 0:
        c.send(b"child")
        os._exit(0)
    os.wait()
    c.send(b"parent")
    c.close()
    s, _ = server.accept()
    print(s.recv(100, socket.MSG_WAITALL))
    c = client(server)
    server.close()
    try:
        c.send(b"x")
        print(c.recv(1))
    except ConnectionResetError as e:
        print(e)


def options():
    """Before listen(), after it, and no more."""
    for after in (False, True):
        server = listener(30, after)
        c = client(server)
        print(after, ready(server, 0.05))
        server.setsockopt(socket.IPPROTO_TCP, DEFER, 0)
        c2 = client(server)
        s, name = server.accept()
        print(name == c2.getsockname(), s.getsockopt(socket.IPPROTO_TCP, DEFER))
        threading.Thread(target=c2.send, args=(b"words",)).start()
        print(s.recv(10))
        server.setsockopt(socket.IPPROTO_TCP, DEFER, 5)
        print(server.getsockopt(socket.IPPROTO_TCP, DEFER))
        c3 = client(server)
        print(ready(server, 0.05))
        threading.Thread(target=c3.send, args=(b"again",)).start()
        s, name = server.accept()
        print(name == c3.getsockname(), s.recv(10, socket.MSG_DONTWAIT))
        c.close()


def reader_and_writer():
    """One thread sleeps in recv when another one writes first."""
    server = listener()
    if os.fork() == 0:
        s, _ = server.accept()
        s.send(s.recv(10)[::-1])
        os._exit(0)
    c = client(server)
    got = []
    t = threading.Thread(target=lambda: got.append(c.recv(10)))
    t.start()
    time.sleep(0.05)
    unread = array.array("i", [0])
    c.send(b"star")
    t.join()
    os.wait()
    print(got, unread[0])


def prefork():
    """Several processes accept from one listener."""
    server = listener()
    for _ in range(3):
        if os.fork() == 0:
            while True:
                s, _ = server.accept()
                data = s.recv(100, socket.MSG_DONTWAIT)
                s.send(data)
                s.close()
                if data == b"end":
                    os._exit(0)
    good = 0
    for i in range(60):
        c = client(server)
        c.send(b"%d" % i)
        good += c.recv(10) == b"%d" % i
        c.close()
    for _ in range(3):
        client(server).send(b"end")
    for _ in range(3):
        os.wait()
    print(good)


PLAYS = (closes_on_eagain, event_loop, idle, late, heir, ends, options,
         reader_and_writer, prefork)


def main():
    for play in PLAYS:
        if len(sys.argv) < 2 or play.__name__ in sys.argv[1:]:
            print("#", play.__name__, flush=True)
            play()
            sys.stdout.flush()


main()
