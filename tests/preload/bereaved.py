#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""bereaved: what a process that sleeps still holds of peers that have died.

usage: bereaved.py WAY...

In each way in which a server may sleep, clients of it are killed with their
connections, or close them and end a moment later. Where WAY is "client" it is
the server that is killed, after the client has closed. Prints for each what the
survivor has a second later, in descriptors and in mappings of RMBs, more than
before; and how often it wakes when nobody dies. All ways are played at once.
"""
import ctypes
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback

CLIENTS = 4
PR_SET_PDEATHSIG = 1


def answer(s):
    while True:
        try:
            data = s.recv(100)
        except ConnectionError:
            data = b""
        if not data:
            s.close()
            return
        s.send(data)


def by_epoll(listener):
    ep = select.epoll()
    ep.register(listener, select.EPOLLIN)
    open_ones = {}
    while True:
        for fd, _ in ep.poll():
            if fd == listener.fileno():
                s = listener.accept()[0]
                open_ones[s.fileno()] = s
                ep.register(s, select.EPOLLIN)
                continue
            data = b""
            try:
                data = open_ones[fd].recv(100)
            except ConnectionError:
                pass
            if data:
                open_ones[fd].send(data)
            else:
                open_ones.pop(fd).close()


def by_select(listener, wait):
    open_ones = {}
    while True:
        for fd in wait([listener.fileno(), *open_ones]):
            if fd == listener.fileno():
                s = listener.accept()[0]
                open_ones[s.fileno()] = s
                continue
            data = b""
            try:
                data = open_ones[fd].recv(100)
            except ConnectionError:
                pass
            if data:
                open_ones[fd].send(data)
            else:
                open_ones.pop(fd).close()


def selected(fds):
    return select.select(fds, [], [])[0]


def polled(fds):
    p = select.poll()
    for fd in fds:
        p.register(fd, select.POLLIN)
    return [fd for fd, _ in p.poll()]


def polled_by_epoll(fds):
    with select.epoll() as ep:
        for fd in fds:
            ep.register(fd, select.EPOLLIN)
        return [fd for fd, _ in ep.poll()]


def by_accept(listener):
    while True:
        answer(listener.accept()[0])


def by_threads(listener, wait):
    while True:
        wait([listener.fileno()])
        s = listener.accept()[0]
        threading.Thread(target=answer, args=(s,), daemon=True).start()


def by_forks(listener):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        s = listener.accept()[0]
        if os.fork() == 0:
            answer(s)
            os._exit(0)
        s.close()


# The first client is the friend, which lives on.
def by_recv(listener):
    friend = listener.accept()[0]
    friend.send(friend.recv(100))
    for _ in range(CLIENTS):
        answer(listener.accept()[0])
    while True:
        friend.recv(100)


SERVERS = {
    "epoll": by_epoll,
    "select": lambda l: by_select(l, selected),
    "poll": lambda l: by_select(l, polled),
    "accept": by_accept,
    "accept+forks": by_forks,
    "recv": by_recv,
    "accept+threads": lambda l: by_threads(l, lambda fds: fds),
    "poll+threads": lambda l: by_threads(l, polled),
    "select+threads": lambda l: by_threads(l, selected),
    "epoll+threads": lambda l: by_threads(l, polled_by_epoll),
}


def child(run, *arguments):
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            run(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


# Instances of epoll are what it hears by, and stay.
def held(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        mappings = sum("memfd:smc_r" in line for line in maps)
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += "eventpoll" not in os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return count, mappings


def wakes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) for line in status
                   if line.startswith("voluntary"))


def until(true, seconds=1.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def converse(address):
    s = socket.create_connection(address)
    s.send(b"x")
    s.recv(1)
    return s


def client(address, told, leaves, go):
    s = converse(address)
    if leaves:
        s.close()
    os.write(told, b"!")
    os.read(go, 1)


def kill(pids, number=signal.SIGKILL):
    for pid in pids:
        os.kill(pid, number)
    for pid in pids:
        os.waitpid(pid, 0)


def clients_die(way, address, server, leaves):
    ready, told_by = os.pipe()
    wait, go = os.pipe()
    before = held(server)
    pids = []
    for _ in range(CLIENTS):
        pids.append(child(client, address, told_by, leaves, wait))
        if way in ("recv", "accept") and not leaves:
            # It serves one after the other.
            os.read(ready, 1)
            kill([pids.pop()])
    for _ in pids:
        os.read(ready, 1)
    if leaves:
        assert until(lambda: held(server)[1] == before[1] + CLIENTS, 20)
        os.write(go, bytes(CLIENTS))
        for pid in pids:
            os.waitpid(pid, 0)
    else:
        kill(pids)
    until(lambda: held(server) == before)
    return held(server), before


def say(*words):
    """Lines of several processes stay whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def told(way, end, now, before):
    say(way, end, "descriptors", now[0] - before[0], "RMBs",
        now[1] - before[1])


def sleep_as_client(address, ready, told):
    converse(address).close()
    os.write(told, b"!")
    selected([ready])


def server_dies(way):
    listener = socket.create_server(("127.0.0.1", 0))
    ready, told_by = os.pipe()
    server = child(by_accept, listener)
    pid = child(sleep_as_client, listener.getsockname(), os.pipe()[0],
                told_by)
    os.read(ready, 1)
    time.sleep(0.05)
    before = held(pid)
    kill([server])
    until(lambda: held(pid)[1] == 0)
    told(way, "killed", held(pid), (before[0], 0))
    kill([pid])


def play(way):
    if way == "client":
        server_dies(way)
        return
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    address = listener.getsockname()
    server = child(SERVERS[way], listener)
    friend = converse(address)
    if way != "recv":
        # The group stays, without a connection.
        friend.close()
    time.sleep(0.2)
    for leaves in (False, True) if way != "recv" else (False,):
        told(way, "left" if leaves else "killed",
             *clients_die(way, address, server, leaves))
    time.sleep(0.1)
    woke = wakes(server)
    time.sleep(1.2)
    say(way, "wakes", wakes(server) - woke)
    kill([server])


players = [child(play, one) for one in sys.argv[1:] or [*SERVERS, "client"]]
sys.exit(max(os.waitpid(pid, 0)[1] for pid in players))
