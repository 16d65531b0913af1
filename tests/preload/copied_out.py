#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""copied_out: what TCP_ZEROCOPY_RECEIVE copies of what there is.

usage: copied_out.py PORT

By a client that has read before, and by one whose handshake is not over. What
is on its way back to TCP may come a moment later. Prints what came.
"""
import ctypes
import socket
import struct
import sys
import time

TCP_ZEROCOPY_RECEIVE = 35
libc = ctypes.CDLL(None, use_errno=True)


def copy_out(s, most):
    room = ctypes.create_string_buffer(most)
    wanted = struct.pack("=QIIIiQiIQQII", 0, 0, 0, 0, 0,
                         ctypes.addressof(room), most, 0, 0, 0, 0, 0)
    call = ctypes.create_string_buffer(wanted, len(wanted))
    size = ctypes.c_uint32(len(wanted))
    if libc.getsockopt(s.fileno(), socket.IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE,
                       call, ctypes.byref(size)):
        return ctypes.get_errno()
    return room.raw[:max(0, struct.unpack_from("=i", call.raw, 32)[0])]


def play(listener, reads):
    c = socket.create_connection(listener.getsockname())
    s, _ = listener.accept()
    if reads:
        c.sendall(b"a")
        s.sendall(s.recv(1) + b"b")
        print(c.recv(1))
    else:
        print(copy_out(c, 1000))
        s.sendall(b"b")
    got = b""
    until = time.monotonic() + 5
    while len(got) < 1 and time.monotonic() < until:
        got += copy_out(c, 1000)
    print(got)
    c.sendall(b"c")
    print(s.recv(10))


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    play(listener, True)
    play(listener, False)


main()
