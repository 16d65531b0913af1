# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""talk PORT HOST COMMAND...: a connection with bytes on it, and while it is
open the command, whose exit status is ours."""
import os
import socket
import subprocess
import sys

port, host = int(sys.argv[1]), sys.argv[2]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((host, port))
listener.listen(1)
pid = os.fork()
if pid == 0:
    peer = socket.socket(family)
    peer.connect((host, port))
    peer.sendall(b"hello")
    assert peer.recv(5) == b"hello"
    peer.recv(1)
    os._exit(0)
end, _ = listener.accept()
assert end.recv(5) == b"hello"
end.sendall(b"hello")
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
status = subprocess.run(sys.argv[3:], env=clean).returncode
end.close()
os.waitpid(pid, 0)
sys.exit(status)
