# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""filtered: executes a program that may make the calls of a set of systemd's,
as a service with SystemCallFilter= is; any other call kills it.

usage: filtered.py SET PROGRAM [ARGUMENT]...
"""
import ctypes
import os
import subprocess
import sys


def members(name):
    """The calls of a set, which may name other sets."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", name],
                          check=True, capture_output=True, text=True).stdout
    for word in text.split("\n")[1:]:
        word = word.split("#")[0].strip()
        if word.startswith("@"):
            yield from members(word)
        elif word:
            yield word


def confine(names):
    """Allows those calls, and kills for all others."""
    lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    lib.seccomp_init.restype = ctypes.c_void_p
    kill, allow = 0x80000000, 0x7fff0000
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(kill)))
    for name in names:
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            lib.seccomp_rule_add(context, ctypes.c_uint32(allow), number, 0)
    if lib.seccomp_load(context) != 0:
        sys.exit("filtered: seccomp_load")


confine(set(members(sys.argv[1])))
os.execvp(sys.argv[2], sys.argv[2:])
