# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""node: the device nodes of the core, used by hand, as no library would.

One Node is one connection of the shim (ofed_core/base/shim_protocol.h) to the core
of the network namespace that we are in.
"""
import array
import mmap
import os
import socket
import struct

OPEN_UVERBS, OPEN_CM, LIST, COMMAND, DOORBELL, MAP = range(1, 7)
PROTOCOL = 5

# Commands of uverbs, and of rdma_cm.
GET_CONTEXT, QUERY_DEVICE, QUERY_PORT, ALLOC_PD, DEALLOC_PD = 0, 1, 2, 3, 4
CREATE_AH, DESTROY_AH, REG_MR, DEREG_MR, DEALLOC_MW = 5, 8, 9, 13, 16
CREATE_CHANNEL, CREATE_CQ, DESTROY_CQ, NOTIFY_CQ, CREATE_QP = 17, 18, 20, 23, 24
QUERY_QP, MODIFY_QP, DESTROY_QP, ATTACH_MCAST, DESTROY_SRQ = 25, 26, 27, 30, 35
CM_CREATE, CM_DESTROY, CM_BIND, CM_RESOLVE, CM_ROUTE = 0, 1, 2, 3, 4
CM_QUERY, CM_CONNECT, CM_LISTEN, CM_ACCEPT, CM_REJECT = 5, 6, 7, 8, 9
CM_DISCONNECT, CM_EVENT, CM_OPTION, CM_MIGRATE = 10, 12, 14, 18

RC, UC, UD = 2, 3, 4
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)


def path(leaf):
    inode = os.stat("/proc/self/ns/net").st_ino
    base = os.environ.get("OFED_CORE_RUNDIR", "/run/ofed_core")
    return "%s/net-%d/%s" % (base, inode, leaf)


class Refused(OSError):
    pass


class Node:
    def __init__(self, kind=OPEN_UVERBS, number=0):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(20)
        self.s.connect(path("verbs"))
        if kind:
            self.ask(kind, number, PROTOCOL, fds=[self.s.fileno()])

    def close(self):
        self.s.close()

    def send(self, kind, argument=0, offset=0, data=b"", fds=()):
        head = struct.pack("<IIQII", kind, argument, offset, len(data), 0)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    array.array("i", fds))] if fds else []
        self.s.sendmsg([head + data], control)

    def ask(self, kind, argument=0, offset=0, data=b"", fds=()):
        """The bytes of the answer; a descriptor that came with it in .fd"""
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own.settimeout(20)
        with own:
            self.send(kind, argument, offset, data,
                      [theirs.fileno(), *fds])
            theirs.close()
            answer, passed, _, _ = socket.recv_fds(own, 16384, 1)
        self.fd = passed[0] if passed else -1
        if not answer:
            raise Refused(32, "the core went away")
        result, = struct.unpack_from("<i", answer)
        if result < 0:
            raise Refused(-result, os.strerror(-result))
        return answer[16:]

    def command(self, number, body, out=256, fds=()):
        """A plain uverbs command: the body begins with the response pointer
        where it has one."""
        body += b"\0" * (-len(body) % 4)
        head = struct.pack("<IHH", number, (8 + len(body)) // 4, out // 4)
        return self.ask(COMMAND, data=head + body, fds=fds)

    def cm(self, number, body, out=1024, fds=()):
        return self.ask(COMMAND, fds=fds,
                        data=struct.pack("<IHH", number, len(body), out) + body)

    def ring(self, offset, size):
        self.ask(MAP, offset=offset)
        with open(self.fd, "r+b") as f:
            return mmap.mmap(f.fileno(), size)

    # ---- What nearly everybody does ----

    def context(self):
        self.command(GET_CONTEXT, struct.pack("<Q", 0))
        self.asynchronous = self.fd
        return self

    def pd(self):
        return struct.unpack_from("<I", self.command(
            ALLOC_PD, struct.pack("<Q", 0)))[0]

    def cq(self, entries):
        """Handle and ring."""
        a = self.command(CREATE_CQ, struct.pack("<QQIIiI", 0, 0, entries, 0,
                                                -1, 0))
        handle, _, offset, size = struct.unpack_from("<IIQI", a)
        return handle, self.ring(offset, size)

    def qp(self, kind, pd, cq, entries):
        """Handle, number, send ring, receive ring."""
        a = self.command(CREATE_QP, struct.pack(
            "<QQIIIIIIIIIBBBB", 0, 0, pd, cq, cq, 0, entries, entries, 1, 1,
            64, 1, kind, 0, 0))
        handle, number = struct.unpack_from("<II", a)
        receive, n, _, send, m = struct.unpack_from("<QIIQI", a, 32)
        return handle, number, self.ring(send, m), self.ring(receive, n)

    def modify(self, qp, mask, state=0, **v):
        dest = v.get("dest", b"\0" * 32)
        self.command(MODIFY_QP, dest + b"\0" * 32 + struct.pack(
            "<IIIIIIIHHBBBBBBBBBBBBBBxx", qp, mask, v.get("qkey", 0),
            v.get("rq_psn", 0), v.get("sq_psn", 0), v.get("qpn", 0),
            v.get("access", 0), 0, 0, state, 0, v.get("mtu", 1), 0, 0, 1, 1,
            12, 1, v.get("timeout", 14), 7, 7, 0, 0))

    def connect(self, qp, kind, qpn=0, dgid=b"\0" * 16, index=1):
        """Takes the queue pair to RTS."""
        dest = dgid + struct.pack("<IHHBBBBBBBB", 0, 0, 0, index, 64, 0, 0, 0,
                                  0, 1, 1)
        if kind == UD:
            self.modify(qp, 0x71, INIT, qkey=1)
            self.modify(qp, 0x1, RTR)
            self.modify(qp, 0x10001, RTS)
            return
        self.modify(qp, 0x39, INIT, access=15)
        self.modify(qp, 0x129181 if kind == RC else 0x101181, RTR, dest=dest,
                    qpn=qpn)
        self.modify(qp, 0x12e01 if kind == RC else 0x10001, RTS)

    def register(self, pd, address, length, access=15):
        """Handle, local key, remote key."""
        a = self.command(REG_MR, struct.pack("<QQQQII", 0, address, length,
                                             address, pd, access))
        return struct.unpack_from("<III", a)

    # ---- Connection management ----

    def cm_create(self):
        return struct.unpack_from("<I", self.cm(CM_CREATE, struct.pack(
            "<QQHBxxxxx", 1, 0, 0x106, RC)))[0]

    def cm_bind(self, ip, port):
        number = self.cm_create()
        self.cm(CM_BIND, struct.pack("<Q28sI", 0, address(ip, port), number))
        return number

    def cm_listen(self, ip, port):
        number = self.cm_bind(ip, port)
        self.cm(CM_LISTEN, struct.pack("<II", number, 10))
        return number

    def cm_connect(self, ip, port):
        number = self.cm_create()
        self.cm(CM_RESOLVE, struct.pack("<28s28sII", b"", address(ip, port),
                                        number, 1000))
        self.cm(CM_ROUTE, struct.pack("<II", number, 1000))
        param = struct.pack("<II256sBBBBBBBB", 77, 0, b"", 0, 0, 1, 1, 0, 7, 7,
                            1)
        self.cm(CM_CONNECT, param + struct.pack("<IIQ", number, 0, 0))
        return number

    def cm_event(self):
        """Kind and id of the next event."""
        while self.s.recv(1):
            try:
                a = self.cm(CM_EVENT, struct.pack("<Q", 0))
            except Refused:
                continue
            number, kind = struct.unpack_from("<II", a, 8)
            return kind, number

    def cm_migrate(self, number, of):
        """Takes over an id of another channel."""
        self.cm(CM_MIGRATE, struct.pack("<QII", 0, number, 0),
                fds=[of.s.fileno()])


CONNECT_REQUEST, REJECTED = 4, 8


def address(ip, port):
    return struct.pack(">H4s", port, socket.inet_aton(ip)).join(
        [struct.pack("<H", socket.AF_INET), b"\0" * 20])


def put_write(ring, slot, element, key, remote, length, local=(0, 0)):
    """A WRITE in a send ring; local is address and key."""
    at = 384 + slot * element
    w = bytearray(224)
    struct.pack_into("<QIII", w, 0, 1, 0, 0, 2)
    struct.pack_into("<QI", w, 24, remote, key)
    struct.pack_into("<I", w, 184, length)
    struct.pack_into("<I", w, 196, 1)
    struct.pack_into("<QII", w, 208, local[0], length, local[1])
    ring[at:at + 224] = bytes(w)
    struct.pack_into("<I", ring, 128, slot + 1)
