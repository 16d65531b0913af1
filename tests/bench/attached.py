# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""attached: how many SMC-R devices have BPF programs attached on this machine.

Those of others, in whatever namespace, see each TCP connection as well: a
machine with many of them connects more slowly. The kernel's list of links
tells; the layouts are those of linux/bpf.h.
"""
import ctypes
import os
import struct

SYSCALL = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361,
           "s390x": 351}
PROG_GET_FD, OBJ_GET_INFO, LINK_GET_FD, LINK_GET_NEXT = 13, 15, 30, 31
PROGRAM = b"smc_option"  # one for each device: smc_r/bpf/smc_option.bpf.c
NAME_AT, INFO_BYTES = 64, 256


def bpf(command, attributes):
    """The system call; attributes is a ctypes buffer. -1 is an error."""
    number = SYSCALL.get(os.uname().machine)
    if number is None:
        return -1
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(ctypes.c_long(number), ctypes.c_int(command),
                        attributes, ctypes.c_uint(len(attributes)))


def descriptor(command, identifier):
    return bpf(command, ctypes.create_string_buffer(
        struct.pack("=III", identifier, 0, 0), 12))


def info(fd):
    told = ctypes.create_string_buffer(INFO_BYTES)
    question = struct.pack("=IIQ", fd, INFO_BYTES, ctypes.addressof(told))
    done = bpf(OBJ_GET_INFO, ctypes.create_string_buffer(question, 16))
    os.close(fd)
    return told.raw if done == 0 else bytes(INFO_BYTES)


def name_of(program):
    fd = descriptor(PROG_GET_FD, program)
    return info(fd)[NAME_AT:NAME_AT + 16].rstrip(b"\0") if fd >= 0 else b""


def instances():
    """How many there are; 0 also where the kernel does not tell (no root)."""
    count = 0
    cursor = ctypes.create_string_buffer(struct.pack("=III", 0, 0, 0), 12)
    while bpf(LINK_GET_NEXT, cursor) == 0:
        _, link, _ = struct.unpack("=III", cursor.raw)
        fd = descriptor(LINK_GET_FD, link)
        if fd >= 0:
            program = struct.unpack_from("=I", info(fd), 8)[0]
            count += name_of(program) == PROGRAM
        struct.pack_into("=I", cursor, 0, link)
    return count
