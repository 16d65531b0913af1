#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""icrc: checks the invariant CRC of every RoCE packet of a capture.

usage: icrc.py FILE    a pcap file of Ethernet frames

Prints for each sender and version how many packets there were and how many had
a wrong ICRC; exits with 1 when any had, or when there was none at all. Written
from the text of the annexes A16 and A17 only, and with zlib's CRC: it shares
nothing with the core.
"""
import collections
import ipaddress
import struct
import sys
import zlib

ROCE_V1 = 0x8915
ROCE_V2 = 4791
ONES = b"\xff" * 8


def frames(path):
    data = open(path, "rb").read()
    magic = data[:4]
    if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        order = "<"
    elif magic in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        order = ">"
    else:
        sys.exit("%s is no pcap file" % path)
    if struct.unpack(order + "I", data[20:24])[0] != 1:
        sys.exit("%s holds no Ethernet frames" % path)
    at = 24
    while at + 16 <= len(data):
        kept, whole = struct.unpack(order + "II", data[at + 8:at + 16])
        if kept < whole:
            sys.exit("%s holds frames that were cut" % path)
        yield data[at + 16:at + 16 + kept]
        at += 16 + kept


def masked(header, *places):
    header = bytearray(header)
    for place in places:
        header[place] = 0xff
    return bytes(header)


def split(frame):
    """Sender, version, all that the CRC covers, the CRC; None: not RoCE."""
    kind = struct.unpack(">H", frame[12:14])[0]
    rest = frame[14:]
    while kind == 0x8100:
        kind = struct.unpack(">H", rest[2:4])[0]
        rest = rest[4:]
    if kind == 0x0800 and rest[9] == 17:
        length = struct.unpack(">H", rest[2:4])[0]
        ip, rest = rest[:20], rest[20:length]
        source = ipaddress.ip_address(ip[12:16])
        ip = masked(ip, 1, 8, 10, 11)
    elif kind == 0x86dd and rest[6] == 17 or kind == ROCE_V1:
        length = struct.unpack(">H", rest[4:6])[0]
        ip, rest = rest[:40], rest[40:40 + length]
        source = ipaddress.ip_address(ip[8:24])
        ip = bytes([ip[0] | 0x0f]) + masked(ip[1:], 0, 1, 2, 6)
    else:
        return None
    udp = b""
    if kind != ROCE_V1:
        if struct.unpack(">H", rest[2:4])[0] != ROCE_V2:
            return None
        udp, rest = masked(rest[:8], 6, 7), rest[8:]
    covered = ONES + ip + udp + masked(rest[:-4], 4)
    return source, 1 if kind == ROCE_V1 else 2, covered, rest[-4:]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    seen = collections.Counter()
    wrong = collections.Counter()
    for frame in frames(sys.argv[1]):
        parts = split(frame)
        if parts is None:
            continue
        source, version, covered, crc = parts
        seen[source, version] += 1
        if struct.pack("<I", zlib.crc32(covered)) != crc:
            wrong[source, version] += 1
    for key in sorted(seen, key=str):
        print("%s RoCE v%d: %d packets, %d wrong"
              % (*key, seen[key], wrong[key]))
    return 1 if wrong or not seen else 0


sys.exit(main())
