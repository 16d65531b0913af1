#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""beanstalkd: producers and consumers of a beanstalk queue.

usage: beanstalkd.py PORT

Four threads put jobs of many sizes, two reserve and delete them; prints how
many there were and the sum of their bytes.
"""
import hashlib
import socket
import sys
import threading

PORT = int(sys.argv[1])
PRODUCERS, CONSUMERS, JOBS = 4, 2, 50


def job(producer, number):
    text = b"%d %d " % (producer, number)
    return text * (1 + number * 37 % 2000)


class Client:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT))
        self.file = self.socket.makefile("rb")

    def ask(self, words, body=None):
        self.socket.sendall(words + b"\r\n")
        if body is not None:
            self.socket.sendall(body + b"\r\n")
        return self.file.readline().split()


def produce(producer):
    client = Client()
    for number in range(JOBS):
        body = job(producer, number)
        answer = client.ask(b"put 10 0 60 %d" % len(body), body)
        assert answer[0] == b"INSERTED", answer


def consume(seen):
    client = Client()
    while True:
        answer = client.ask(b"reserve-with-timeout 2")
        if answer[0] != b"RESERVED":
            assert answer[0] == b"TIMED_OUT", answer
            return
        body = client.file.read(int(answer[2]) + 2)[:-2]
        seen.append(hashlib.sha256(body).hexdigest())
        assert client.ask(b"delete " + answer[1])[0] == b"DELETED"


def main():
    seen = []
    threads = [threading.Thread(target=consume, args=(seen,))
               for _ in range(CONSUMERS)]
    threads += [threading.Thread(target=produce, args=(n,))
                for n in range(PRODUCERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(seen), hashlib.sha256("".join(sorted(seen)).encode())
          .hexdigest())


main()
