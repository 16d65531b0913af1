#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""smc: what the kernel's SMC is told, by generic netlink.

usage: smc.py pnet ETHERNET [RDMA] interface and RDMA device belong together
       smc.py ueid EID             a user EID, for SMC-Rv2
       smc.py link-groups          prints how many there are, and connections
       smc.py versions             prints how many connections of SMC-R there were
                                   until now: of clients, versions 1 and 2, and
                                   of servers
"""
import socket
import struct
import sys

GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID = 1
CTRL_ATTR_FAMILY_NAME = 2
REQUEST, ACK, DUMP = 1, 4, 0x300
PNETID_ADD = 2
PNETID_NAME, PNETID_ETH, PNETID_IB, PNETID_IB_PORT = 1, 2, 3, 4
GET_LGR_SMCR = 2
GET_STATS = 7
ADD_UEID = 10
EID_ENTRY = 1
GEN_LGR_SMCR = 2
LGR_CONNS_NUM = 6
GEN_STATS = 7
STATS_SMCR_TECH = 2
STATS_VERSIONS = 7, 8, 9, 10  # client's and server's, 1 and 2
PNETID = b"SMCTEST"


def attribute(kind, value):
    head = struct.pack("=HH", 4 + len(value), kind)
    return head + value + bytes(-len(value) % 4)


def attributes(data):
    while len(data) >= 4:
        n, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3fff, data[4:n]
        data = data[(n + 3) & ~3:]


def ask(s, family, command, body, flags):
    message = struct.pack("=BBH", command, 1, 0) + body
    s.send(struct.pack("=IHHII", 16 + len(message), family, REQUEST | flags,
                       1, 0) + message)
    while True:
        data = s.recv(65536)
        while data:
            n, kind = struct.unpack_from("=IH", data)
            if kind == 2:
                error = -struct.unpack_from("=i", data, 16)[0]
                if error:
                    sys.exit("smc.py: error %d" % error)
                return
            if kind == 3:
                return
            yield data[20:n]
            if not flags:
                return
            data = data[(n + 3) & ~3:]


def family(s, name):
    body = attribute(CTRL_ATTR_FAMILY_NAME, name + b"\0")
    for told in ask(s, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, body, 0):
        for kind, value in attributes(told):
            if kind == CTRL_ATTR_FAMILY_ID:
                return struct.unpack("=H", value)[0]
    sys.exit("smc.py: there is no %s" % name.decode())


def add_pnet(s, ethernet, rdma=None):
    to = family(s, b"SMC_PNETID")
    name = attribute(PNETID_NAME, PNETID + b"\0")
    list(ask(s, to, PNETID_ADD, name +
             attribute(PNETID_ETH, ethernet.encode() + b"\0"), ACK))
    if rdma:
        list(ask(s, to, PNETID_ADD, name +
                 attribute(PNETID_IB, rdma.encode() + b"\0") +
                 attribute(PNETID_IB_PORT, b"\1"), ACK))


def add_ueid(s, eid):
    to = family(s, b"SMC_GEN_NETLINK")
    list(ask(s, to, ADD_UEID, attribute(EID_ENTRY, eid.encode().ljust(32) + b"\0"), ACK))


def show_groups(s):
    groups = []
    to = family(s, b"SMC_GEN_NETLINK")
    for told in ask(s, to, GET_LGR_SMCR, b"", DUMP):
        for kind, value in attributes(told):
            if kind != GEN_LGR_SMCR:
                continue
            fields = dict(attributes(value))
            groups.append(struct.unpack("=I", fields[LGR_CONNS_NUM])[0]
                          if LGR_CONNS_NUM in fields else 0)
    print(len(groups), sum(groups))


def show_versions(s):
    to = family(s, b"SMC_GEN_NETLINK")
    for told in ask(s, to, GET_STATS, b"", DUMP):
        stats = dict(attributes(dict(attributes(told))[GEN_STATS]))
        smcr = dict(attributes(stats[STATS_SMCR_TECH]))
        print(*(struct.unpack("=Q", smcr[kind])[0] for kind in STATS_VERSIONS))


def main():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
    s.bind((0, 0))
    if sys.argv[1:2] == ["pnet"] and len(sys.argv) in (3, 4):
        add_pnet(s, *sys.argv[2:])
    elif sys.argv[1:2] == ["ueid"] and len(sys.argv) == 3:
        add_ueid(s, sys.argv[2])
    elif sys.argv[1:] == ["link-groups"]:
        show_groups(s)
    elif sys.argv[1:] == ["versions"]:
        show_versions(s)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
