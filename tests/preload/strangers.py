#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""strangers: what a client takes of those who connect to its peer ID.

usage: strangers.py CHANNELS

A client of one server is sent the memory and the bells of so many others, which
no Accept over TCP names, by another user where this one is root. Then it
connects to another server, so that it looks. Prints how many descriptors that
cost beside those of the connection, and whether any of the memory was mapped.
"""
import fcntl
import glob
import mmap
import os
import resource
import socket
import struct
import sys

CHANNELS = int(sys.argv[1])
ELEMENTS, RMBE, GAP, PAGE = 8, 16384, 2048, 4096
BELLS = 4


def serve(listener):
    s = listener.accept()[0]
    s.send(s.recv(1))
    s.recv(1)
    os._exit(0)


def server():
    listener = socket.create_server(("127.0.0.1", 0))
    pid = os.fork()
    if pid == 0:
        serve(listener)
    return listener.getsockname()


def converse(address):
    s = socket.create_connection(address)
    s.send(b"x")
    assert s.recv(1) == b"x"
    return s


def memory():
    n = (PAGE + ELEMENTS * (2 * RMBE + GAP) + PAGE - 1) & ~(PAGE - 1)
    fd = os.memfd_create("stranger", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, n)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    with mmap.mmap(fd, PAGE) as m:
        m[:32] = struct.pack("8I", 0x424D5253, 12, ELEMENTS, RMBE, 0, 0, 0, 0)
    return fd


def message(name):
    return struct.pack("2I8s8s16s16s5I", 0x5A444E52, 7, os.urandom(8),
                       bytes.fromhex(name), os.urandom(16), os.urandom(16), 1,
                       ELEMENTS, RMBE, BELLS, 0)


def intrude(path, told, go):
    pipe = os.pipe()
    os.fchmod(pipe[0], 0o666)
    fds = [memory()] + [*pipe, *pipe] * ELEMENTS
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if os.getuid() == 0:
        os.setresuid(65533, 65533, 65533)
    channels = []
    for _ in range(CHANNELS):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        try:
            socket.send_fds(s, [message(os.path.basename(path))], fds)
        except OSError:
            # A user may have only so many under way.
            break
        channels.append(s)
    os.write(told, struct.pack("I", len(channels)))
    os.read(go, 1)


def held():
    with open("/proc/self/maps", encoding="ascii") as maps:
        mapped = "memfd:stranger" in maps.read()
    return len(os.listdir("/proc/self/fd")), mapped


def is_own(path):
    """The process id is in a peer ID: bits 18 to 39."""
    return int(os.path.basename(path), 16) >> 18 & 0x3FFFFF == os.getpid()


def main():
    addresses = [server() for _ in range(3)]
    sockets = [converse(addresses[0])]
    pattern = f"{os.environ['SMC_R_RUNDIR']}/users/*/peer/*"
    path = next(filter(is_own, glob.glob(pattern)))
    before = held()[0]
    sockets.append(converse(addresses[1]))
    each = held()[0] - before
    told, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            intrude(path, told[1], go[0])
        finally:
            os._exit(0)
    sent = struct.unpack("I", os.read(told[0], 4))[0]
    before = held()[0]
    sockets.append(converse(addresses[2]))
    after, mapped = held()
    print(sent, "channels: descriptors", after - before - each, "mapped",
          mapped)
    os.write(go[1], b"!")
    os.waitpid(pid, 0)


main()
