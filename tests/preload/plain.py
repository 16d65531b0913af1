# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""plain: a server whose client has no engine; how its connection is listed.

Says after each step how many matching connections are on TCP.
"""

import ctypes
import os
import socket
import subprocess
import sys

libc = ctypes.CDLL(None)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))


def tell(step):
    """Runs a program, as those do that use vfork and close all descriptors."""
    text = subprocess.run(["entstat", "-d", "smc_r0"], check=True,
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        if line.startswith("Matching Connections on TCP Now:"):
            print(step, line.split(":")[1].strip(), flush=True)


def accept():
    return listener.accept()[0].detach()


tell("none")
fd = accept()
tell("accepted")
other = os.dup(fd)
os.close(fd)
tell("duplicate")
os.dup2(2, other)
tell("replaced")
os.close(other)

fd = accept()
end = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(end[1])
    os.read(end[0], 1)
    os._exit(0)
os.close(fd)
tell("in the child")
os.close(end[1])
os.waitpid(pid, 0)
tell("child gone")

fd = accept()
os.closerange(fd, fd + 1)
tell("range closed")

fd = accept()
libc.syscall(3, fd)
tell("closed by number")

fd = accept()
libc.fdopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
libc.fclose(libc.fdopen(fd, b"r"))
tell("stream closed")

fd = accept()
tell("the last one")
