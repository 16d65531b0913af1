#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Two clients of an IRC server, of which one talks and the other one listens.

usage: irc_client.py PORT LINES
"""
import socket
import sys


class Client:
    def __init__(self, port, nick):
        self.nick = nick
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(f"NICK {nick}\r\nUSER {nick} 0 * :x\r\n".encode())
        self.lines = s.makefile("rw", newline="\r\n")
        self.until(" 376 ", " 422 ")
        self.say("JOIN #x")
        self.until(" 366 ")

    def say(self, line):
        self.lines.write(line + "\r\n")
        self.lines.flush()

    def until(self, *words):
        for line in self.lines:
            if line.startswith("PING"):
                self.say(line.strip().replace("PING", "PONG"))
            if any(w in line for w in words):
                return line
        raise SystemExit("the end")


def main():
    port, lines = int(sys.argv[1]), int(sys.argv[2])
    ann, bob = Client(port, "ann"), Client(port, "bob")
    for k in range(lines):
        ann.say(f"PRIVMSG #x :number {k}")
        print(bob.until("PRIVMSG").split(" ", 2)[2].strip())
    bob.say("QUIT :bye")
    print(bob.until("ERROR").strip())
    print(repr(bob.lines.read()))


main()
