#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""stream: one connection with bytes both ways, each of which is checked.

usage: stream.py listen|connect ADDRESS PORT NOTE

Each end sends without an end, and reads what the other one sends. After SIGUSR1,
and after the end of the peer's stream, it ends its own and reads on.

The file NOTE, which a kill does not touch, has two numbers of 8 bytes: how many
bytes send() was called for, and how many it took. Lines of the output:

    connected
    ended RECEIVED	the peer's stream came to its end
    NAME RECEIVED	an error, as errno calls it
    wrong OFFSET	a byte is not what the peer sent
"""
import errno
import mmap
import random
import select
import signal
import socket
import struct
import sys

PERIOD = 65521  # of the pattern; it divides the size of no ring
PIECE_MAX = 20000


def pattern(of_server):
    block = random.Random(5 + of_server).randbytes(PERIOD)
    return block + block[:PIECE_MAX]


class Stream:
    def __init__(self, listens, note):
        self.mine, self.theirs = pattern(listens), pattern(not listens)
        self.sizes = random.Random(listens)
        self.sent = self.got = 0
        self.is_told = self.reads = self.writes = False
        with open(note, "w+b") as f:
            f.truncate(16)
            self.note = mmap.mmap(f.fileno(), 16)
        signal.signal(signal.SIGUSR1, self.be_told)

    def be_told(self, *_):
        self.is_told = True

    def open(self, listens, address, port):
        if listens:
            listener = socket.create_server((address, port))
            self.sock, _ = listener.accept()
            listener.close()
        else:
            self.sock = socket.create_connection((address, port), 10)
        self.sock.setblocking(False)
        self.reads = self.writes = True
        print("connected", flush=True)

    def send(self):
        at = self.sent % PERIOD
        n = self.sizes.randrange(1, PIECE_MAX)
        struct.pack_into("q", self.note, 0, self.sent + n)
        self.sent += self.sock.send(self.mine[at:at + n])
        struct.pack_into("q", self.note, 8, self.sent)

    def receive(self):
        """Is all as it should be?"""
        data = self.sock.recv(PIECE_MAX)
        at = self.got % PERIOD
        if data != self.theirs[at:at + len(data)]:
            return False
        self.got += len(data)
        if not data:
            self.reads = False
            self.is_told = True
        return True

    def end(self):
        self.writes = False
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError as e:
            # So says TCP when the peer has reset it by now.
            if self.reads or e.errno != errno.ENOTCONN:
                raise

    def turn(self):
        can_read, can_write, _ = select.select(
            [self.sock] if self.reads else [],
            [self.sock] if self.writes else [], [], 0.2)
        try:
            if can_read and not self.receive():
                return f"wrong {self.got}"
            if can_write and not self.is_told:
                self.send()
        except BlockingIOError:
            pass
        if self.writes and self.is_told:
            self.end()
        return None if self.reads or self.writes else f"ended {self.got}"

    def run(self):
        result = None
        while not result:
            try:
                result = self.turn()
            except OSError as e:
                result = f"{errno.errorcode[e.errno]} {self.got}"
        self.sock.close()
        return result


def main():
    way, address, port, note = sys.argv[1:]
    stream = Stream(way == "listen", note)
    stream.open(way == "listen", address, int(port))
    print(stream.run(), flush=True)


if __name__ == "__main__":
    main()
