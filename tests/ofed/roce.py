# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""roce: RoCE v2 packets made by hand, for tests of a core from outside.

The ICRC (annex A17, A16.1.3): CRC-32 over 8 bytes of ones in place of an LRH,
then the packet with ones in the fields that routers change.
"""
import socket
import struct
import time
import zlib

PORT = 4791
QKEY_CM = 0x80010000

RC_SEND_ONLY, RC_WRITE_ONLY, RC_READ_REQUEST = 0x04, 0x0A, 0x0C
RC_ACK, UD_SEND_ONLY = 0x11, 0x64


def bth(opcode, qpn, psn, ack=True, pad=0, pkey=0xFFFF, version=0):
    return struct.pack(">BBHII", opcode, pad << 4 | version, pkey, qpn,
                       (0x80000000 if ack else 0) | psn & 0xFFFFFF)


def reth(address, rkey, length):
    return struct.pack(">QII", address, rkey, length)


def deth(qkey, source):
    return struct.pack(">II", qkey, source)


def aeth(syndrome, msn=0):
    return struct.pack(">I", syndrome << 24 | msn)


class Peer:
    """An unconnected socket with DF set: the kernel leaves the IP ID 0."""

    def __init__(self, own, other, port=PORT):
        self.own, self.other = own, other
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, DO
        self.s.bind((own, port))
        self.port = self.s.getsockname()[1]

    def ip(self, n, mask, identification=0, flags=0x4000):
        return struct.pack(">BBHHHBBH4s4s", 0x45, mask, 20 + n, identification,
                           flags, mask or 64, 17, mask << 8 | mask,
                           socket.inet_aton(self.own),
                           socket.inet_aton(self.other))

    def icrc(self, transport, identification=0, flags=0x4000):
        n = 8 + len(transport) + 4
        ip = self.ip(n, 0xFF, identification, flags)
        udp = struct.pack(">HHHH", self.port, PORT, n, 0xFFFF)
        masked = transport[:4] + b"\xff" + transport[5:]
        return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))

    def send(self, transport):
        self.s.sendto(transport + self.icrc(transport), (self.other, PORT))

    def send_numbered(self, transport, identification, flags, spoil=0):
        """With an IP header that says so; spoil: bits of the ICRC."""
        crc, = struct.unpack("<I", self.icrc(transport, identification, flags))
        n = 8 + len(transport) + 4
        with socket.socket(socket.AF_INET, socket.SOCK_RAW,
                           socket.IPPROTO_RAW) as s:
            s.sendto(self.ip(n, 0, identification, flags) +
                     struct.pack(">HHHH", self.port, PORT, n, 0) + transport +
                     struct.pack("<I", crc ^ spoil), (self.other, 0))

    def send_raw(self, data):
        self.s.sendto(data, (self.other, PORT))

    def receive(self, seconds, patience=0):
        """Transports that arrive, without ICRC, for so long. Where something
        must come the first may take as long as patience, and the time begins
        with it: machines are slow."""
        end = time.monotonic() + max(seconds, patience)
        while (left := end - time.monotonic()) > 0:
            self.s.settimeout(left)
            try:
                data, who = self.s.recvfrom(8192)
            except socket.timeout:
                return
            if who[0] == self.other:
                if patience:
                    end = time.monotonic() + seconds
                    patience = 0
                yield data[:-4]


def mad(attribute, transaction, body):
    head = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction,
                       attribute, 0, 0)
    return (head + body).ljust(256, b"\0")


def cm(attribute, transaction, body):
    """A message to queue pair 1."""
    return (bth(UD_SEND_ONLY, 1, 0, ack=False) + deth(QKEY_CM, 1) +
            mad(attribute, transaction, body))


def gid(ip):
    return b"\0" * 10 + b"\xff\xff" + socket.inet_aton(ip)


def cm_req(own, other, port, comm_id=0x1234, qpn=0x777, timeout=20, retries=15):
    """A REQ in the convention of rdma_cm, port space TCP."""
    b = bytearray(232)
    struct.pack_into(">I", b, 0, comm_id)
    struct.pack_into(">Q", b, 8, 0x0000000001060000 | port)
    struct.pack_into(">Q", b, 16, 0x0011223344556677)
    struct.pack_into(">I", b, 32, qpn << 8 | 1)
    struct.pack_into(">I", b, 36, 1)
    struct.pack_into(">I", b, 40, timeout << 3)
    struct.pack_into(">I", b, 44, 0x100 << 8 | timeout << 3 | 7)
    struct.pack_into(">H", b, 48, 0xFFFF)
    b[50] = 3 << 4 | 7
    b[51] = retries << 4
    b[52:56] = b"\xff" * 4
    b[56:72], b[72:88] = gid(own), gid(other)
    b[93] = 64
    b[95] = 19 << 3
    b[140] = 0
    b[141] = 0x40
    struct.pack_into(">H", b, 142, 40000)
    b[156:160] = socket.inet_aton(own)
    b[172:176] = socket.inet_aton(other)
    return cm(0x0010, comm_id, bytes(b))


def cm_kind(transport):
    """The attribute of a CM message, or None."""
    if len(transport) < 12 + 8 + 24 or transport[0] != UD_SEND_ONLY:
        return None
    return struct.unpack_from(">H", transport, 20 + 16)[0]


def answers(peer, comm_id, identification, flags, spoil=0):
    """What comes back to a REQ in a packet that send_numbered makes so."""
    peer.send_numbered(cm_req(peer.own, peer.other, 7174, comm_id=comm_id),
                       identification, flags, spoil)
    return [cm_kind(t) for t in peer.receive(0.5, 0 if spoil else 10)]
