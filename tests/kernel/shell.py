#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""shell: commands for another machine, and what they say.

usage: shell.py serve PORT            runs what is asked for, for ever
       shell.py ask HOST PORT COMMAND prints the output; exits as COMMAND did
"""
import socket
import socketserver
import subprocess
import sys

LIMIT = 75  # seconds for one command


class Command(socketserver.BaseRequestHandler):
    def handle(self):
        text = b""
        while part := self.request.recv(65536):
            text += part
        try:
            done = subprocess.run(["/bin/sh", "-c", text],
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=LIMIT)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = 124, late.stdout or b""
        self.request.sendall(output + b"\n%d" % (status & 0xff))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def ask(host, port, command):
    with socket.create_connection((host, port), timeout=3) as s:
        s.settimeout(LIMIT + 5)
        s.sendall(command.encode())
        s.shutdown(socket.SHUT_WR)
        answer = b""
        while part := s.recv(65536):
            answer += part
    output, status = answer.rsplit(b"\n", 1)
    sys.stdout.buffer.write(output)
    return int(status)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "serve":
        Server(("", int(sys.argv[2])), Command).serve_forever()
    if len(sys.argv) == 5 and sys.argv[1] == "ask":
        try:
            return ask(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        except (OSError, ValueError) as error:
            print("no answer: %s" % error)
            return 125
    print(__doc__, file=sys.stderr)
    return 2


sys.exit(main())
