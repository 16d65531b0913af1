# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""cell: one figure that is measured in several ways, and its bars.

A column is one way: plain TCP, the same program under smc_run, AF_UNIX, or
a bare ring in shared memory. In one round every column of a cell is run
once, next to each other, so that a ratio compares neighbours in time.
"""
import math
import os
import statistics
import subprocess

from device import MATCHING, NOT_MATCHING, as_user

PROGRAMS = {"dir": ""}  # where the bench programs are; set by the driver
CLIENT_CORE = 1
SERVER_CORE = 0


class CellError(Exception):
    pass


class Column:
    """kind: tcp, smc, unix, ring, few, rdma, lossy, rxe; a device makes it
    run under smc_run, and build says where the core of rdma and lossy is."""

    def __init__(self, kind, device=None, name=None, build=None):
        self.kind = kind
        self.build = build
        self.name = name or kind
        self.device = device

    def environment(self, extra=None):
        e = self.device.environment() if self.device else dict(os.environ)
        e.pop("SMC_R_SPIN", None)
        if self.device and extra:
            e.update(extra)
        return e

    def command(self, argv):
        return (self.device.prefix() if self.device else []) + argv


class Ports:
    """Hands out ports in turn, so that TIME_WAIT of one run is not met by
    the next."""

    def __init__(self, first, last):
        self.first, self.last, self.at = first, last, first

    def take(self):
        port = self.at
        self.at = self.first if self.at == self.last else self.at + 1
        return port


matching_ports = Ports(*MATCHING)
other_ports = Ports(*NOT_MATCHING)


def run(argv, env, limit=120, user=None):
    """Output of a command that must succeed."""
    try:
        told = subprocess.run(as_user(user, argv), env=env, text=True,
                              capture_output=True, timeout=limit,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise CellError(f"no end after {limit} s: {' '.join(argv)}") from None
    except OSError as e:
        raise CellError(f"{argv[0]}: {e.strerror}") from None
    if told.returncode:
        raise CellError(f"exit {told.returncode}: {' '.join(argv)}: "
                        f"{told.stderr.strip()[-300:]}")
    return told.stdout


def pairs(line):
    """name=value pairs of a bench program, as numbers."""
    return {n: float(v) for n, v in
            (word.split("=") for word in line.split() if "=" in word)}


class Bar:
    """What the median must reach.

    over: the column that ours is divided by, or None for the figure itself.
    worst: the bar is on the worst round divided by the median.
    sure: the bar is on what the median is at least, or at most, with 95 %
    certainty.
    cpu: the bar is on processor time ("cpu"), which is better when lower.
    """

    def __init__(self, over, must, moonshot=None, worst=False, sure=False,
                 cpu=False):
        self.over, self.must, self.moonshot = over, must, moonshot
        self.worst, self.sure, self.cpu = worst, sure, cpu

    def better(self, cell):
        return "lower" if self.worst or self.cpu else cell.better

    def judged(self, seen, cell):
        """The one figure of all rounds that the bar is for."""
        if not self.sure:
            return statistics.median(seen)
        low, high = interval(seen)
        return low if self.better(cell) == "higher" else high


def interval(seen):
    """95 % of the medians of so many rounds lie within."""
    n, seen = len(seen), sorted(seen)
    below, k = 0.5 ** n, 0  # chance that at most k rounds are below it
    while below <= 0.025:
        k += 1
        below += math.comb(n, k) * 0.5 ** n
    k = max(k - 1, 0)
    return seen[k], seen[n - 1 - k]


def short_bars():
    """Of short connections, which no port may make slower."""
    return [Bar("tcp", 0.98, sure=True), Bar("tcp", 1.05, cpu=True)]


class Cell:
    """run(column, seconds) returns a dict; "value" is the figure."""

    def __init__(self, section, key, title, unit, better, columns, runner,
                 bars=(), expect="smc", env=None, big=False, ours="smc",
                 beside=(), rounds=None):
        self.section, self.key, self.title = section, key, title
        self.unit, self.better = unit, better
        self.columns = columns
        self.runner = runner
        self.bars = list(bars)
        self.expect = expect  # "smc", "tcp", or None: not checked
        self.env = env or {}
        self.big = big        # other people's program: fewer, longer rounds
        self.ours = ours      # the column that the bars judge
        self.rounds = rounds  # so many, but for a look
        self.beside = beside  # columns that a run of ours finds as well

    def run(self, column, seconds):
        return self.runner(self, column, seconds)


def reaches(value, bar, better):
    return value <= bar if better == "lower" else value >= bar


class Result:
    """All rounds of one cell."""

    def __init__(self, cell, names, ours, control):
        self.cell = cell
        self.names = names
        self.rounds = {n: [] for n in names}  # of dicts, None: failed
        self.fell_back = 0
        self.noisy = 0
        self.errors = []
        if ours == "smc" and cell.ours in names:
            ours = cell.ours
        self.ours = ours
        self.bars = cell.bars if self.is_judged() and cell.bars \
            else [Bar(control, None)]

    def values(self, name):
        return [r["value"] for r in self.rounds.get(name, ()) if r]

    def median(self, name):
        v = self.values(name)
        return statistics.median(v) if v else None

    def ratios(self, ours, over, of="value"):
        both = zip(self.rounds.get(ours, ()), self.rounds.get(over, ()))
        return [a[of] / b[of] for a, b in both if a and b and b.get(of)]

    def measure(self, bar):
        """Rounds of what a bar judges, or [] when it cannot be judged."""
        ours = self.ours
        if bar.worst:
            v = self.values(ours)
            m = self.median(ours)
            if not v or not m:
                return []
            worst = max(v) if self.cell.better == "lower" else min(v)
            return [worst / m]
        if bar.over is None:
            return self.values(ours)
        if bar.over == ours:
            return []
        return self.ratios(ours, bar.over, "cpu" if bar.cpu else "value")

    def is_judged(self):
        """Bars are for SMC against the rest, not for build against build."""
        return self.ours == self.cell.ours

    def tendency(self, bar):
        """Where there is no bar: a difference counts when it is over 3 % and
        nearly all rounds agree."""
        seen = self.measure(bar)
        if self.fell_back or len(seen) < 5 or self.is_judged():
            return "fell back" if self.fell_back else ""
        m = statistics.median(seen)
        agree = sum((v > 1) == (m > 1) for v in seen)
        if abs(m - 1) <= 0.03 or agree < 0.8 * len(seen):
            return "same"
        return "better" if (m < 1) == (self.cell.better == "lower") \
            else "worse"

    def verdict(self, bar):
        """moonshot, ok, near (within a tenth of the bar, or 3 % of a bar that
        says "no worse"), miss, or why not.

        Empty when there is nothing to judge.
        """
        if bar.must is None:
            return self.tendency(bar)
        if self.fell_back:
            return "fell back"
        seen = self.measure(bar)
        if not seen:
            return "failed" if self.errors else "no figure"
        m = bar.judged(seen, self.cell)
        better = bar.better(self.cell)
        slack = 1.03 if 0.9 <= bar.must <= 1 else 1.1
        if better == "higher":
            slack = 1 / slack
        if bar.moonshot is not None and reaches(m, bar.moonshot, better):
            return "moonshot"
        if reaches(m, bar.must, better):
            return "ok"
        return "near" if reaches(m, bar.must * slack, better) else "miss"


def program(name):
    return os.path.join(PROGRAMS["dir"], name)


def pinned(cores, same=False):
    if not cores:
        return []
    return ["-C", str(SERVER_CORE if same else CLIENT_CORE),
            "-S", str(SERVER_CORE)]


def transport(column, ports, ring=()):
    """The options that make one of our programs use the column's way."""
    if column.kind == "ring":
        return ["-T", "ring"] + list(ring)
    if column.kind == "unix":
        return ["-T", "unix", "-u", f"/tmp/smc_r_bench.{os.getpid()}"]
    return ["-T", "tcp", "-p", str(ports.take())]


def own(name, options, pick, scale=1.0, ring=(), ports=matching_ports):
    """A runner for one of our programs; pick names the figure it prints."""
    def runner(cell, column, seconds):
        argv = column.command([program(name), "-t", str(seconds)] +
                              transport(column, ports, ring) + list(options))
        found = pairs(run(argv, column.environment(cell.env),
                          limit=seconds + 60))
        found["value"] = found[pick] * scale
        if "cpu_ns" in found:
            found["cpu"] = found["cpu_ns"]
        return found
    return runner
