# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""rdma: figures of ofed_core under unchanged verbs programs, beside TCP.

Two network namespaces are joined by a veth pair whose packets hold 4096 bytes
of RoCE payload; each has a core of its own. "Same host" cells run both ends in
one namespace. TCP takes the same path in the same round. Nothing is bound to
processors: the cores would be in the way of the programs wherever they are.

Columns: tcp; rdma, over ofed_core; lossy, the same while the cores lose one
packet in a hundred.
"""
import json
import os
import re
import signal
import socket
import subprocess
import time

from apps import App
from cell import Bar, Cell, CellError, run

SERVER = "10.83.0.1"
CLIENT = "10.83.0.2"
MTU = 4200
PERFTEST_PORT = 18515
QPERF_PORT = 19765
IPERF_PORT = 17599
RSTREAM_PORT = 7471
LOSS = 10  # packets of 1000


def ip(*words):
    told = subprocess.run(["ip", *words], capture_output=True, text=True)
    if told.returncode:
        raise CellError(f"ip {' '.join(words)}: {told.stderr.strip()}")


def listens(pid, port):
    """Asks for the namespace that the process is in."""
    wanted = f":{port:04X}"
    try:
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as f:
            lines = f.readlines()[1:]
        with open(f"/proc/{pid}/net/tcp6", encoding="ascii") as f:
            lines += f.readlines()[1:]
    except OSError:
        return False
    return any(line.split()[1].endswith(wanted) and line.split()[3] == "0A"
               for line in lines)


def wait_until(seconds, ask):
    end = time.monotonic() + seconds
    while not ask():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Core:
    """ofed_core in a network namespace of its own; a child of ours, so that
    what it uses is not taken for somebody else's."""

    def __init__(self, name, build, run_dir):
        self.name = name
        self.bin = os.path.join(os.path.abspath(build), "bin")
        self.run_dir = run_dir
        self.process = None

    def environment(self):
        e = dict(os.environ, OFED_CORE_RUNDIR=self.run_dir,
                 OFED_CONF=os.path.join(self.run_dir, "ofed.conf"))
        e.pop("LD_PRELOAD", None)
        return e

    def path(self, name):
        inode = os.stat(f"/run/netns/{self.name}").st_ino
        return os.path.join(self.run_dir, f"net-{inode}", name)

    def start(self):
        self.process = subprocess.Popen(
            self.inside([os.path.join(self.bin, "ofed_core"), "-f"]),
            env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not wait_until(10, lambda: os.path.exists(self.path("verbs"))):
            raise CellError("ofed_core did not start")
        # The kernel takes its time to tell that a veth has a peer.
        if not wait_until(10, lambda: " ACTIVE" in self.ask("devices")):
            raise CellError("the port did not become active")

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def inside(self, argv):
        return ["ip", "netns", "exec", self.name] + argv

    def command(self, column, argv):
        """argv in the namespace, with the shim where the column wants it."""
        if column.kind != "tcp":
            argv = [os.path.join(self.bin, "ofed_run")] + argv
        return self.inside(argv)

    def ask(self, request):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path("control"))
            s.sendall(request.encode() + b"\n")
            answer = s.recv(4096).decode()
        if not answer.splitlines()[-1:] == ["ok"]:
            raise CellError(f"ofed_core: {request}: {answer.strip()}")
        return answer


def last_numbers(told, size):
    """The line of perftest's table for messages of that size."""
    for line in reversed(told.splitlines()):
        words = line.split()
        if words and words[0] == str(size):
            return [float(w) for w in words]
    raise CellError(f"no figures in: {told.strip()[-300:]}")


class Rdma(App):
    needs = ("ip", "iperf3", "qperf", "ib_write_bw", "ib_read_bw",
             "ib_send_bw", "ib_send_lat", "rstream")
    columns = ("tcp", "rdma", "lossy")

    def __init__(self, where, log):
        super().__init__(where, log)
        self.cores = []

    # ---- The two namespaces ----

    def prepare(self, columns):
        if os.geteuid() != 0:
            raise CellError("network namespaces need root")
        build = next(c.build for c in columns if c.kind == "rdma")
        run_dir = os.path.join(self.servers.where, "ofed")
        os.makedirs(run_dir)
        with open(os.path.join(run_dir, "ofed.conf"), "w", encoding="ascii"):
            pass
        names = [f"bench{os.getpid()}{end}" for end in "ab"]
        for name in names:
            ip("netns", "add", name)
            self.cores.append(Core(name, build, run_dir))
        ip("link", "add", "ent0", "netns", names[0], "type", "veth",
           "peer", "name", "ent0", "netns", names[1])
        for name, address in zip(names, (SERVER, CLIENT)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "ent0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "ent0", "mtu", str(MTU), "up")
        for core in self.cores:
            core.start()

    def finish(self):
        for core in self.cores:
            core.stop()
            subprocess.run(["ip", "netns", "del", core.name], check=False)
        self.cores = []
        super().finish()

    # ---- A server for one run, and its client ----

    def pair(self, column, path, server, client, port):
        """What the client says. The server is ready when it listens, or after
        half a second where it listens to rdma_cm (port None)."""
        here = self.cores[0]
        there = self.cores[0 if path == "host" else 1]
        log = os.path.join(self.servers.log, "rdma.server.log")
        with open(log, "wb") as out, subprocess.Popen(
                here.command(column, server), env=here.environment(),
                stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT) as p:
            try:
                if port is None:
                    time.sleep(0.5)
                elif not wait_until(10, lambda: listens(p.pid, port)):
                    raise CellError(f"{server[0]} does not listen; see {log}")
                return run(there.command(column, client),
                           there.environment(), limit=60)
            finally:
                if not wait_until(2, lambda: p.poll() is not None):
                    p.kill()

    def set_loss(self, column):
        for core in self.cores:
            core.ask(f"set wire_loss {LOSS if column.kind == 'lossy' else 0}")

    def iperf(self, column, path, seconds):
        port = str(IPERF_PORT)
        told = self.pair(column, path, ["iperf3", "-s", "-1", "-p", port],
                         ["iperf3", "-c", SERVER, "-J", "-p", port,
                          "-t", str(max(1, round(seconds)))], IPERF_PORT)
        rate = json.loads(told)["end"]["sum_received"]["bits_per_second"]
        return {"value": rate / 8e9}

    def perftest(self, column, path, argv, size, field):
        """argv on both sides; the figure stands in that column."""
        self.set_loss(column)
        argv = argv + ["-x", self.gid_index(), "-s", str(size), "-F"]
        told = self.pair(column, path, argv, argv + [SERVER], PERFTEST_PORT)
        return last_numbers(told, size)[field]

    @staticmethod
    def gid_index():
        """The GID of the IPv4 address comes after the link-local one."""
        return "1"

    def bulk(self, path, program, count, size, more=()):
        """GB/s; TCP by iperf3."""
        def go(_, column, seconds):
            if column.kind == "tcp":
                return self.iperf(column, path, seconds)
            mib_s = self.perftest(column, path, [
                program, "-n", str(int(count * max(seconds, 0.2)))] +
                list(more), size, 3)
            return {"value": mib_s * 1048576e-9}
        return go

    def qperf(self, column, path, seconds, test, size):
        told = self.pair(column, path, ["qperf"], [
            "qperf", SERVER, "-cm1", "-t", str(max(1, round(seconds))),
            "-m", str(size), "-uu", test, "quit"], QPERF_PORT)
        found = re.search(r"latency\s*=\s*([\d.]+) (\w+)", told)
        if not found:
            raise CellError(f"qperf said: {told.strip()[-300:]}")
        scale = {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}
        return {"value": float(found.group(1)) * scale[found.group(2)]}

    def latency(self, path, size, count):
        """Half a round trip in us, both ends sleeping; TCP by qperf."""
        def go(_, column, seconds):
            if column.kind == "tcp":
                return self.qperf(column, path, seconds, "tcp_lat", size)
            return {"value": self.perftest(column, path, [
                "ib_send_lat", "-e", "-n",
                str(int(count * max(seconds, 0.2)))], size, 5)}
        return go

    def write_latency(self, path, size):
        """From posting a WRITE to its completion, told by an event."""
        def go(_, column, seconds):
            return self.qperf(column, path, seconds, "rc_rdma_write_lat",
                              size)
        return go

    def rstream(self, path, size):
        def go(_, column, seconds):
            if column.kind == "tcp":
                return self.iperf(column, path, seconds)
            self.set_loss(column)
            count = str(int(20000 * max(seconds, 0.2)))
            argv = ["rstream", "-S", str(size), "-I", "1", "-C", count]
            told = self.pair(column, path, argv, argv + ["-s", SERVER], None)
            found = re.findall(r"([\d.]+)\s+[\d.]+\s*$", told, re.M)
            if not found:
                raise CellError(f"rstream said: {told.strip()[-300:]}")
            return {"value": float(found[-1]) / 8}
        return go

    # ---- Cells ----

    def cell(self, key, title, unit, better, columns, runner, bars=(),
             ours="rdma"):
        return Cell("rdma", key, title, unit, better, columns, runner, bars,
                    expect=None, big=True, ours=ours)

    def cells(self):
        both = ("tcp", "rdma")
        yield self.cell("host.write_bw", "same host, 64 KiB WRITE", "GB/s",
                        "higher", both,
                        self.bulk("host", "ib_write_bw", 20000, 65536),
                        [Bar(None, 3)])
        yield self.cell("host.send_bw", "same host, 64 KiB SEND, events",
                        "GB/s", "higher", both,
                        self.bulk("host", "ib_send_bw", 20000, 65536, ["-e"]))
        yield self.cell("host.write_lat", "same host, 8 B WRITE, events",
                        "us", "lower", ("rdma",),
                        self.write_latency("host", 8), [Bar(None, 15)])
        yield self.cell("host.send_lat", "same host, 8 B SEND, events", "us",
                        "lower", both, self.latency("host", 8, 10000))
        yield self.cell("host.rstream", "same host, rstream 64 KiB", "GB/s",
                        "higher", both, self.rstream("host", 65536))
        for name, program, more in (
                ("WRITE", "ib_write_bw", ()),
                ("SEND, events", "ib_send_bw", ("-e",)),
                ("READ, events", "ib_read_bw", ("-e",))):
            yield self.cell(f"wire.{program[3:]}", f"veth, 64 KiB {name}",
                            "GB/s", "higher", both,
                            self.bulk("wire", program, 8000, 65536, more),
                            [Bar("tcp", 0.3)])
        yield self.cell("wire.send_lat", "veth, 8 B SEND, events", "us",
                        "lower", both, self.latency("wire", 8, 5000),
                        [Bar("tcp", 2)])
        yield self.cell("wire.rstream", "veth, rstream 64 KiB", "GB/s",
                        "higher", both, self.rstream("wire", 65536))
        yield self.cell("wire.loss", "veth, 64 KiB WRITE, 1 % lost", "GB/s",
                        "higher", ("rdma", "lossy"),
                        self.bulk("wire", "ib_write_bw", 8000, 65536),
                        [Bar("rdma", 0.5)], ours="lossy")
