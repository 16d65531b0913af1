#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""rounds: what two hosts (hosts.bash) do when something of theirs is killed or
stopped at a random moment, while stream.py sends bytes both ways.

usage: rounds.py SEED ROUNDS

The same seed makes the same faults. After each round both hosts have to be as
they were before the first one, and the next round's connection to be SMC-R.
"""
import collections
import glob
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ["BIN"]
PLACE = os.environ["PLACE"]
HOSTS = os.environ["HOSTS"]
ADDRESS = {"a": "10.83.0.1", "b": "10.83.0.2"}
PORT = 5400
LONGEST_S = 33  # the silence before a Test Link, and its answer
PATIENCE_S = 10
# The RNIC's transport gives up after eight times 268 ms.
CORE_STOP_S = 0.2
ALLOWED = {"ended", "ECONNRESET", "EPIPE", "ETIMEDOUT"}
RESET = ALLOWED - {"ended"}


class Failed(Exception):
    pass


def wait_for(what, test):
    until = time.monotonic() + PATIENCE_S
    while not test():
        if time.monotonic() > until:
            raise Failed(f"never happened in {PATIENCE_S} s: {what()}")
        time.sleep(0.02)


class Host:
    """One of them: its commands, service and core."""

    def __init__(self, name, core):
        self.name, self.core = name, core
        self.env = dict(os.environ, ODMDIR=f"{PLACE}/{name}/odm",
                        SMC_R_RUNDIR=f"{PLACE}/{name}/run",
                        SMC_R_HANDSHAKE="4000")
        self.inside = ["nsenter", f"--net=/run/netns/{HOSTS}{name}"]

    def run(self, *command, quiet=False):
        return subprocess.run([*self.inside, *command], env=self.env,
                              stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL if quiet else None,
                              stdin=subprocess.DEVNULL, check=False).stdout

    def start(self, log, *command):
        with open(f"{PLACE}/{log}.log", "w") as out:
            return subprocess.Popen([*self.inside, *command], env=self.env,
                                    stdout=out, stderr=out,
                                    stdin=subprocess.DEVNULL,
                                    start_new_session=True)

    def service(self):
        """The process that listens for hellos, by its credentials."""
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with s:
            try:
                s.connect(glob.glob(f"{PLACE}/{self.name}/run/rc.*")[0])
            except (OSError, IndexError):
                return 0
            return struct.unpack("iII", s.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def load_service(self):
        self.run("chdev", "-q", "-l", "smc_r0", "-a", "enabled=1")
        wait_for(lambda: f"a service on {self.name}", self.service)

    def has_device(self):
        return "PORT_ACTIVE" in self.run(f"{BIN}/ofed_run",
                                         "/usr/bin/ibv_devinfo",
                                         quiet=True)

    def load_core(self):
        process = self.start(f"core_{self.name}", f"{BIN}/ofed_core", "-f")
        self.core = process.pid
        with open(f"{PLACE}/pids", "a") as pids:
            print(process.pid, file=pids)
        wait_for(lambda: f"a device on {self.name}", self.has_device)

    def counters(self):
        text = self.run("entstat", "-d", "smc_r0")
        return {name: int(value) for name, value in
                re.findall(r"^(.*?): *(\d+)$", text, re.M)}

    def on_smc(self):
        return self.counters()["SMC-R Connections"]

    def left(self):
        """Counters that are 0 when nothing is left of connections."""
        counters = self.counters()
        found = {name: counters[name] for name in (
            "SMC-R Connections Active Now", "Connections in Handshake Now",
            "Connections Closing Now", "Matching Connections on TCP Now",
            "RMB Memory in Use (bytes)", "Connections Moved Back to TCP")}
        return {name: n for name, n in found.items() if n}

    def rings(self):
        """Names of the run directory that are not those of its start."""
        found = []
        for at, _, names in os.walk(f"{PLACE}/{self.name}/run"):
            found += [f"{at}/{n}" for n in names]
        return [n for n in found if not re.search(
            r"/run/(database|generation|rc\.\d+|smc_r0)$|/(status|peer)/", n)]

    def descriptors(self):
        """Kinds of the service's descriptors, with their numbers."""
        kinds = collections.Counter()
        pid = self.service()
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                to = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            kinds[re.sub(r"[\d:\[\]]+", "", to)] += 1
        return kinds


class Round:
    def __init__(self, number, random_, hosts):
        self.hosts = hosts
        self.random = random_
        self.number = number
        self.before = {h.name: h.on_smc()
                       for h in hosts.values()}
        self.ends = {}
        for way, name in (("listen", "a"), ("connect", "b")):
            if way == "connect":
                wait_for(lambda: "a listener", self.listens)
            self.ends[name] = hosts[name].start(
                f"stream_{name}", f"{BIN}/smc_run", "python3",
                f"{HERE}/stream.py", way, ADDRESS["a"], str(PORT),
                f"{PLACE}/note_{name}")
        wait_for(self.logs, self.is_on_smc)

    def listens(self):
        return self.hosts["a"].run("ss", "-Hltn", f"sport = :{PORT}")

    def log(self, name):
        with open(f"{PLACE}/stream_{name}.log") as f:
            return f.read()

    def logs(self):
        return " ".join(f"{n}: {self.log(n)!r} {h.left()}"
                        for n, h in self.hosts.items())

    def is_on_smc(self):
        return all("connected" in self.log(n) for n in "ab") and all(
            h.on_smc() > self.before[h.name]
            for h in self.hosts.values())

    def note(self, name):
        with open(f"{PLACE}/note_{name}", "rb") as f:
            return struct.unpack("qq", f.read(16))

    def outcome(self, name):
        """What an end came to: a word, and how many bytes."""
        try:
            self.ends[name].wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"{name} hears of nothing: {self.logs()}") from None
        words = self.log(name).split()[1:]
        if len(words) != 2 or words[0] not in ALLOWED:
            raise Failed(f"{name} says {self.log(name)!r}")
        other = "b" if name == "a" else "a"
        called, took = self.note(other)
        got = int(words[1])
        if got > called or (words[0] == "ended" and got < took):
            raise Failed(f"{name} has {got} bytes of {took} to {called}")
        return words[0]

    def finish(self):
        """Both ends in good order; nothing is lost."""
        for end in self.ends.values():
            end.send_signal(signal.SIGUSR1)
        said = [self.outcome(n) for n in "ab"]
        if said != ["ended", "ended"]:
            raise Failed(f"no orderly end: {said}")
        for n, other in ("ab", "ba"):
            if int(self.log(n).split()[2]) != self.note(other)[1]:
                raise Failed(f"{n} misses bytes of {self.note(other)}")

    def clean(self):
        for end in self.ends.values():
            end.kill()
            end.wait()

    # ---- the faults ----

    def stop(self, pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.05)
        self.finish()

    def stop_program(self, name):
        self.stop(self.ends[name].pid, self.random.uniform(0.05, 0.5))

    def stop_service(self, name):
        self.stop(self.hosts[name].service(), self.random.uniform(0.05, 0.5))

    def stop_core(self, name):
        self.stop(self.hosts[name].core, self.random.uniform(0.05, CORE_STOP_S))

    def kill_program(self, name):
        self.ends[name].kill()
        self.ends[name].wait()
        self.outcome("b" if name == "a" else "a")

    def both_are_reset(self):
        said = {n: self.outcome(n) for n in "ab"}
        if not RESET.issuperset(said.values()):
            raise Failed(f"an end for a reset: {said}")

    def kill_service(self, name):
        host = self.hosts[name]
        killed = host.service()
        os.kill(killed, signal.SIGKILL)
        self.both_are_reset()
        # The question itself, a connection, starts it.
        wait_for(lambda: f"{name} has another service",
                 lambda: host.service() != killed)

    def kill_core(self, name):
        host = self.hosts[name]
        os.kill(host.core, signal.SIGKILL)
        self.both_are_reset()
        host.load_core()
        host.load_service()

    def run(self):
        kinds = [self.kill_program, self.kill_service, self.kill_core,
                 self.stop_program, self.stop_service, self.stop_core]
        kind = kinds[self.number % len(kinds)]
        name = self.random.choice("ab")
        delay = self.random.uniform(0, 0.3)
        print(f"round {self.number}: {kind.__name__} of {name} after "
              f"{delay:.3f} s", end="", flush=True)
        begun = time.monotonic()
        time.sleep(delay)
        kind(name)
        print(f": {[self.log(n).split()[1:] for n in 'ab']}"
              f" in {time.monotonic() - begun:.1f} s")


def nothing_leaked(hosts, descriptors):
    for h in hosts.values():
        wait_for(lambda: f"nothing left on {h.name}: {h.left()}",
                 lambda: not h.left())
        wait_for(lambda: f"no rings on {h.name}: {h.rings()}",
                 lambda: not h.rings())
        wait_for(lambda: f"descriptors of {h.name}: {h.descriptors()}, "
                 f"were {descriptors[h.name]}",
                 lambda: not h.descriptors() - descriptors[h.name])


def play(number, random_, hosts, descriptors, act):
    r = Round(number, random_, hosts)
    try:
        act(r)
        if descriptors:
            nothing_leaked(hosts, descriptors)
    finally:
        r.clean()


def main():
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    with open(f"{PLACE}/pids") as f:
        cores = f.read().split()
    hosts = {n: Host(n, int(pid)) for n, pid in zip("ab", cores[-2:])}
    print(f"rounds.py {seed} {rounds}")
    random_ = random.Random(seed)
    play(0, random_, hosts, None, Round.finish)
    time.sleep(0.2)
    descriptors = {n: h.descriptors() for n, h in hosts.items()}
    begun = time.monotonic()
    try:
        for i in range(rounds):
            play(i, random.Random(f"{seed} {i}"), hosts, descriptors, Round.run)
        play(0, random_, hosts, descriptors, Round.finish)
    except Failed as e:
        print(f"\nfailed: {e}")
        return 1
    print(f"{rounds} rounds in {time.monotonic() - begun:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
