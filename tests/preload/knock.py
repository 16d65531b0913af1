# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# knock: connections between two processes that know each other, and what a
# client does between its connect() and its first word.
#
# usage: knock.py WAY PORT [COUNT [ACCEPTORS]]
#
# The server, of one process or several that take turns, echoes what it reads,
# backwards, and closes. Each word must come back, whatever the client did
# meanwhile.
import os
import select
import signal
import socket
import sys
import threading
import time

from whole import read_all

way, port = sys.argv[1], int(sys.argv[2])
count = int(sys.argv[3]) if len(sys.argv) > 3 else 50
acceptors = int(sys.argv[4]) if len(sys.argv) > 4 else 1
at = ("127.0.0.1", port)


def serve_one(listener):
    c, _ = listener.accept()
    if way == "banner":
        c.sendall(b"220 ")
    word = c.recv(65536)
    if word:
        c.sendall(word[::-1])
    if way == "bursts":
        kept.append(c)
    else:
        c.close()


kept = []


def serve_bursts(listener):
    """Closes what its client has closed."""
    p = select.poll()
    p.register(listener, select.POLLIN)
    while True:
        for fd, events in p.poll():
            if fd == listener.fileno():
                serve_one(listener)
                p.register(kept[-1], select.POLLIN)
                continue
            c = next(x for x in kept if x.fileno() == fd)
            p.unregister(c)
            kept.remove(c)
            c.close()


def serve(listener):
    if way == "bursts":
        serve_bursts(listener)
    while True:
        serve_one(listener)
        if way == "late":
            time.sleep(0.02)


def server():
    # The children have the listener, and this process none.
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(at)
    listener.listen(128)
    children = []
    for _ in range(acceptors):
        pid = os.fork()
        if pid == 0:
            serve(listener)
        children.append(pid)
    listener.close()
    return children


def in_child(f):
    pid = os.fork()
    if pid == 0:
        f()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def connected():
    s = socket.socket()
    s.settimeout(None)
    s.connect(at)
    return s


def exchange(s, word):
    s.sendall(word)
    answer = read_all(s)
    assert answer == word[::-1], (way, word, answer)
    s.close()


def beginning():
    s = socket.socket()
    s.setblocking(False)
    try:
        s.connect(at)
    except BlockingIOError:
        pass
    return s


def wait_by_poll(sockets):
    p = select.poll()
    for s in sockets:
        p.register(s, select.POLLOUT)
    while sockets:
        for fd, events in p.poll(5000):
            s = next(x for x in sockets if x.fileno() == fd)
            sockets.remove(s)
            p.unregister(fd)
            yield s


def wait_by_epoll(sockets, flags):
    p = select.epoll()
    waiting = {s.fileno(): s for s in sockets}
    for fd in waiting:
        p.register(fd, select.EPOLLIN | select.EPOLLOUT | flags)
    while waiting:
        ready = p.poll(5)
        assert ready
        for fd, events in ready:
            if fd in waiting and events & select.EPOLLOUT:
                p.unregister(fd)
                yield waiting.pop(fd)
    p.close()


def wait_in_order(i, sockets, begun):
    """An acceptor that serves one after the other waits for the first of them,
    so that another one must not be told before it. The engine hides for 5 ms
    that they can be written to: the wait begins a little before that."""
    while time.monotonic() < begun + 0.005 - i % 10 * 0.00003:
        pass
    told = list(wait_by_epoll(sockets, select.EPOLLET))
    assert told == sockets, (i, [s.fileno() for s in told])
    return told


def several(i):
    """Eight that begin beside each other, as an event loop's do."""
    begun = time.monotonic()
    sockets = [beginning() for _ in range(8)]
    if way == "begun-poll":
        ready = wait_by_poll(sockets)
    elif way == "begun-epoll":
        ready = wait_by_epoll(sockets, 0)
    elif way == "begun-edge":
        ready = wait_by_epoll(sockets, select.EPOLLET)
    elif way == "begun-order":
        ready = wait_in_order(i, sockets, begun)
    elif way == "begun-write":
        ready = sockets
    elif way == "begun-close":
        for s in sockets:
            s.close()
        return
    elif way == "begun-fork":
        ready = []
        in_child(lambda: [s.sendall(b"child") for s in sockets])
        for s in sockets:
            s.setblocking(True)
            assert read_all(s) == b"dlihc"
            s.close()
    for k, s in enumerate(ready):
        s.setblocking(True)
        exchange(s, b"word %d %d" % (i, k))


def mapped():
    with open("/proc/self/maps") as maps:
        return sum("memfd:smc_r" in line for line in maps)


def bursts(i):
    """What the server gives back after them is not kept here either."""
    sockets = []
    for _ in range(60):
        s = connected()
        s.sendall(b"word")
        assert s.recv(4) == b"drow"
        sockets.append(s)
    most = mapped()
    for s in sockets:
        s.close()
    for _ in range(20):
        s = connected()
        s.sendall(b"word")
        assert s.recv(4) == b"drow"
        s.close()
    print("mapped", most, mapped(), flush=True)
    assert mapped() <= max(3, most / 2)


def one(i):
    if way == "bursts":
        bursts(i)
        return
    if way.startswith("begun"):
        several(i)
        return
    word = b"word %d " % i + b"x" * (i * 37 % 3000)
    s = connected()
    if way == "banner":
        assert s.recv(4) == b"220 "
    elif way == "poll":
        p = select.poll()
        p.register(s, select.POLLIN | select.POLLOUT)
        while not any(e & select.POLLOUT for _, e in p.poll(5000)):
            pass
    elif way == "epoll":
        p = select.epoll()
        p.register(s, select.EPOLLOUT)
        assert p.poll(5)
        p.close()
    elif way == "nonblock":
        s.setblocking(False)
        while True:
            try:
                s.send(word)
                break
            except BlockingIOError:
                select.select([], [s], [], 5)
        s.setblocking(True)
        assert read_all(s) == word[::-1]
        s.close()
        return
    elif way == "fork":
        # The child says it, and the parent hears the answer.
        in_child(lambda: s.sendall(word))
        assert read_all(s) == word[::-1]
        s.close()
        return
    elif way == "silent":
        s.close()
        return
    elif way == "half":
        s.shutdown(socket.SHUT_WR)
        assert read_all(s) == b""
        s.close()
        return
    elif way == "killed":
        # It had connected, and said nothing.
        in_child_killed()
        s.close()
        s = connected()
    elif way == "threads":
        # One thread waits for the answer while another writes.
        got = []
        t = threading.Thread(target=lambda: got.append(polled(s)))
        t.start()
        s.sendall(word)
        t.join()
        assert got == [word[::-1]], (i, got)
        s.close()
        return
    elif way == "exec":
        # A program without the engine says it.
        os.set_inheritable(s.fileno(), True)
        fd = s.fileno()
        pid = os.fork()
        if pid == 0:
            os.dup2(fd, 1)
            os.execve("/bin/echo", ["echo", "-n", "handed on"],
                      {"SMC_R": "0"})
        os.waitpid(pid, 0)
        assert read_all(s) == b"no dednah"
        s.close()
        return
    exchange(s, word)


def polled(s):
    data = b""
    while True:
        select.select([s], [], [])
        part = s.recv(65536)
        if not part:
            return data
        data += part


def in_child_killed():
    pid = os.fork()
    if pid == 0:
        connected()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


children = server()
try:
    if way == "many":
        # Several threads connect at once.
        failed = []

        def many(n):
            try:
                for i in range(n, n + count):
                    one(i)
            except BaseException as e:
                failed.append(e)
                raise
        threads = [threading.Thread(target=many, args=(k * count,))
                   for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failed
    else:
        for i in range(count):
            one(i)
finally:
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
