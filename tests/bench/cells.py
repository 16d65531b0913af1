# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""cells: every figure of our own programs that `make bench` takes.

The bars are ratios against TCP over loopback unless they name another
column; "must" is the floor that we hold ourselves to, "moonshot" the aim.
"""
import subprocess

from cell import (Bar, Cell, CellError, CLIENT_CORE, SERVER_CORE, other_ports,
                  matching_ports, own, pairs, pinned, program, run,
                  short_bars)
from turns import in_turns

ASLEEP = {"SMC_R_SPIN": "0"}
TWO = pinned(True)
ONE = pinned(True, same=True)
US = 1e-3
KIB = 1024
PAIRS = 20


def size_name(n):
    if n < KIB:
        return f"{n} B"
    return f"{n // KIB} KiB" if n < KIB * KIB else f"{n // KIB // KIB} MiB"


def ping(section, key, title, columns, options, bars, **more):
    return Cell(section, key, title, "us", "lower", columns,
                own("pingpong", options, "rtt_ns", US,
                    ring=more.pop("ring", ())), bars, **more)


def pingpong():
    waits = (("block", "blocking", 20, 30), ("epoll", "epoll LT", 15, 25),
             ("epollet", "epoll ET", 15, 25), ("poll", "poll", 15, 25))
    for wait, words, must, moon in waits:
        bars = [Bar("tcp", 1 / must, 1 / moon)]
        if wait == "block":
            bars.append(Bar("ring", 1.6, 1.3))
        yield ping("pingpong", f"64.{wait}", f"64 B, {words}",
                   ("tcp", "smc", "unix", "ring"),
                   TWO + ["-w", wait, "-m", "64"], bars)
    for size, must, moon in ((KIB, 12, 17), (4 * KIB, 7, 10),
                             (64 * KIB, 2.5, 3.5)):
        yield ping("pingpong", f"{size}.block", f"{size_name(size)}, blocking",
                   ("tcp", "smc", "unix", "ring"),
                   TWO + ["-m", str(size)], [Bar("tcp", 1 / must, 1 / moon)],
                   ring=("-P", "8192"))
    yield ping("pingpong", "64.unpinned", "64 B, blocking, not bound to cores",
               ("tcp", "smc", "unix", "ring"), ["-m", "64"], [])
    yield ping("pingpong", "64.busy", "64 B, nonblocking read again and again",
               ("tcp", "smc", "unix", "ring"), TWO + ["-w", "busy"], [])


def asleep():
    cases = ((TWO, "two", "two cores", (0.70, 0.60), (0.75, 0.65)),
             (ONE, "one", "one core", (0.50, 0.35), (0.55, 0.40)))
    for cores, key, words, block, epoll in cases:
        for wait, bar in (("block", block), ("epoll", epoll)):
            name = "blocking" if wait == "block" else "epoll LT"
            yield ping("asleep", f"{key}.{wait}",
                       f"64 B, {name}, both asleep, {words}",
                       ("tcp", "smc", "unix", "ring"),
                       cores + ["-w", wait], [Bar("tcp", *bar)],
                       ring=("-R", "futex"), env=ASLEEP)
    # One core with spinning left on: it must find out by itself.
    yield ping("asleep", "one.default", "64 B, blocking, one core, spin as set",
               ("tcp", "smc"), ONE, [Bar("tcp", 0.50, 0.35)])


def cpu():
    """Processor time of both ends together, for each message."""
    for cores, key, words in ((TWO, "two", "two cores"),
                              (ONE, "one", "one core")):
        for wait, name in (("block", "blocking"), ("epoll", "epoll LT")):
            yield Cell("cpu", f"ping.{key}.{wait}",
                       f"64 B and back, {name}, both asleep, {words}", "us",
                       "lower", ("tcp", "smc", "unix"),
                       own("pingpong", cores + ["-w", wait], "cpu_ns", US),
                       [Bar("tcp", 1)], env=ASLEEP)
    for size, gap, env, key, words in (
            (64, 200, ASLEEP, "asleep", "asleep"),
            (64, 200, {}, "default", "spin as set"),
            (64 * KIB, 1000, ASLEEP, "asleep", "asleep")):
        yield Cell("cpu", f"paced.{size}.{key}",
                   f"{size_name(size)} each {gap / 1000:g} ms, {words}, "
                   "two cores", "us", "lower", ("tcp", "smc", "unix"),
                   own("stream", TWO + ["-d", "-m", str(size), "-g",
                                        str(gap)], "cpu_ns", US),
                   [Bar("tcp", 1)], env=env)


def beside_hogs(loops, options):
    measure = own("pingpong", options, "rtt_ns", US,
                  ring=("-R", "adaptive"))

    def runner(cell, column, seconds):
        argv = [program("hogs"), str(int(seconds) + 60), str(loops),
                str(SERVER_CORE), str(CLIENT_CORE)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE,
                              text=True) as hogs:
            try:
                if hogs.stdout.readline().strip() != "ready":
                    raise CellError("the busy loops did not start")
                return measure(cell, column, seconds)
            finally:
                hogs.terminate()
    return runner


def hogs():
    for loops in (1, 2):
        yield Cell("hogs", f"{loops}", f"64 B, blocking, {loops} busy loop"
                   f"{'s' if loops > 1 else ''} on each core", "us", "lower",
                   ("tcp", "smc", "ring"), beside_hogs(loops, TWO),
                   [Bar("tcp", 0.15, 0.05), Bar(None, 3, worst=True)])


def stream():
    cases = ((KIB, 15, 30), (4 * KIB, 8, 15), (16 * KIB, 4, 6),
             (64 * KIB, 2.8, 3.4), (KIB * KIB, 2.2, 2.5))
    for size, must, moon in cases:
        bars = [Bar("tcp", must, moon)]
        if size >= 64 * KIB:
            bars.append(Bar("ring", 0.8))
        yield Cell("stream", f"{size}", f"one way, {size_name(size)} writes",
                   "GB/s", "higher", ("tcp", "smc", "unix", "ring"),
                   own("stream", TWO + ["-m", str(size)], "gb_s",
                       ring=("-P", "8192")), bars)


def messages():
    yield Cell("messages", "64", "64 B messages one way, TCP_NODELAY", "M/s",
               "higher", ("tcp", "smc", "unix", "ring"),
               own("stream", TWO + ["-m", "64", "-d"], "messages_s", 1e-6),
               [Bar("tcp", 30), Bar(None, 8, 15)])
    yield Cell("messages", "64.nagle", "64 B messages one way, Nagle", "M/s",
               "higher", ("tcp", "smc"),
               own("stream", TWO + ["-m", "64"], "messages_s", 1e-6),
               [Bar("tcp", 5)])


def connect():
    yield Cell("connect", "two", "connect, request, close, two cores", "/s",
               "higher", ("tcp", "smc", "unix"),
               own("connrate", TWO + ["-k", "1"], "connections_s"),
               [Bar("tcp", 0.6, 0.8)])
    yield Cell("connect", "one", "connect, request, close, one core", "/s",
               "higher", ("tcp", "smc", "unix"),
               own("connrate", ONE + ["-k", "1"], "connections_s"),
               [Bar("tcp", 0.6, 0.8)])


def first():
    """What a process that makes one connection takes longer than one that
    makes none, from exec to exit; the library is in both."""
    for cores, key, words in ((TWO, "two", "two cores"),
                              (ONE, "one", "one core")):
        yield Cell("first", key, f"first connection of a process, {words}",
                   "us", "lower", ("tcp", "smc"),
                   own("first", cores, "extra_us"), [Bar(None, 500)])


def two_sides(name, options, pick, engine_on):
    """A server and a client of which only one is under smc_run."""
    def runner(cell, column, seconds):
        port = str(matching_ports.take())
        common = ["-t", str(seconds), "-p", port] + options
        argv = {end: [program(name), "-r", end] + common
                for end in ("server", "client")}
        env = {end: column.environment(cell.env) for end in argv}
        if column.device:
            argv[engine_on] = column.command(argv[engine_on])
        with subprocess.Popen(argv["server"], env=env["server"],
                              stdout=subprocess.DEVNULL) as server:
            try:
                found = pairs(run(argv["client"], env["client"]))
            finally:
                try:
                    server.wait(5)
                except subprocess.TimeoutExpired:
                    server.kill()
        found["value"] = found[pick] if pick != "rtt_ns" else \
            1e6 / found[pick]
        return found
    return runner


def rate_of(options, ports):
    """Round trips in a millisecond instead of their time: more is better."""
    measure = own("pingpong", options, "rtt_ns", ports=ports)

    def runner(cell, column, seconds):
        found = measure(cell, column, seconds)
        found["value"] = 1e6 / found["rtt_ns"]
        return found
    return runner


def passthrough():
    """A connection that is not served costs nothing."""
    cases = (("unmatched", "port not matched", "smc", other_ports),
             ("disabled", "enabled=0", "disabled", matching_ports))
    for key, words, column, ports in cases:
        for wait in ("block", "epoll"):
            yield Cell("passthrough", f"{key}.{wait}",
                       f"64 B ping-pong, {wait}, {words}", "/ms", "higher",
                       ("tcp", column), rate_of(ONE + ["-w", wait], ports),
                       [Bar("tcp", 0.98)], expect="tcp", ours=column)
        yield Cell("passthrough", f"{key}.connect",
                   f"connect, request, close, {words}", "/s", "higher",
                   ("tcp", column),
                   own("connrate", ONE, "connections_s", ports=ports),
                   [Bar("tcp", 0.98)], expect="tcp", ours=column)
    for end, other in (("server", "client"), ("client", "server")):
        yield Cell("passthrough", f"{end}_only.block",
                   f"64 B ping-pong, {other} without engine", "/ms",
                   "higher", ("tcp", "smc"),
                   two_sides("pingpong", ONE, "rtt_ns", end),
                   [Bar("tcp", 0.98)], expect="tcp")
        yield Cell("passthrough", f"{end}_only.connect",
                   f"connect, request, close, {other} without engine", "/s",
                   "higher", ("tcp", "smc"),
                   two_sides("connrate", ONE, "connections_s", end),
                   [Bar("tcp", 0.98)], expect="tcp")


def manyconn():
    ten = TWO + ["-n", "10"]
    yield Cell("manyconn", "10", "10 connections, 64 B requests", "K/s",
               "higher", ("tcp", "smc"), own("manyconn", ten, "requests_s", US))
    cases = [(f"{n}", f"{n} connections, 64 B requests", ["-n", str(n)], 0.8)
             for n in (100, 1000, 5000)]
    cases.append(("idle", "10 busy connections beside 1000 idle",
                  ["-n", "10", "-k", "1000"], 0.95))
    for key, title, options, must in cases:
        yield Cell("manyconn", key, title, "K/s", "higher",
                   ("tcp", "smc", "few"),
                   in_turns(TWO + options, ten, "requests_s", US),
                   [Bar("few", must)], beside=("few",))


# A number that fills RMBs: what is left over in the last one serves the next
# connections.
IDLE_CONNECTIONS = 128


def idling(figure):
    """Open connections left alone; looks at the device meanwhile."""
    def runner(cell, column, seconds):
        argv = column.command([program("idle"), "-t", str(max(seconds, 1)),
                               "-k", str(IDLE_CONNECTIONS), "-p",
                               str(matching_ports.take())])
        env = column.environment(cell.env)
        look = None
        with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE,
                              text=True) as p:
            line = p.stdout.readline().strip()
            if line == "idle" and column.device:
                look = column.device.look()
            found = pairs(p.stdout.read())
        if p.returncode or line != "idle":
            raise CellError(f"idle: exit {p.returncode}, \"{line}\"")
        found["value"] = figure(found, look)
        return found
    return runner


def wakeups(found, _):
    return found["client_wakeups_s"] + found["server_wakeups_s"]


def beyond_buffers(found, look):
    """KiB that one connection takes in both processes besides two RMBEs.

    RMBs count whole, touched or not; all else counts as it is resident.
    """
    touched = (found["client_memory_bytes"] + found["server_memory_bytes"])
    found["each_bytes"] = max(look.rmb_bytes, touched) / IDLE_CONNECTIONS
    found["rmbe_bytes"] = look.rmbe_bytes
    return (found["each_bytes"] - 2 * look.rmbe_bytes) / KIB


SHAPES = (("one", "one thread", (1, 16, 64)),
          ("share", "8 processes, one listener", (1, 4, 16, 64)),
          ("reuse", "8 processes, SO_REUSEPORT", (16,)),
          ("threads", "a thread for each", (1, 4, 16, 64)),
          ("children", "a fork for each", (1, 16)))


def short():
    """Connections of one request, of a port that has learnt it."""
    for shape, words, clients in SHAPES:
        for n in clients:
            yield brief(f"{shape}.c{n}", f"64 B there and back, {words}, c={n}",
                        ["-A", shape, "-n", str(n)])
    yield brief("empty.c1", "connect and close, no bytes, c=1", ["-m", "0"])


def brief(key, title, options):
    return Cell("short", key, title, "/s", "higher", ("tcp", "learns"),
                own("brief", TWO + options, "connections_s"), short_bars(),
                expect=None, ours="learns", rounds=PAIRS)


def learn():
    """A port that turns every few seconds; what is always on SMC beside it."""
    for pick, key, title, unit, better, bar in (
            ("short_s", "short", "short phases, connections", "/s", "higher",
             Bar("tcp", 0.98)),
            ("long_s", "long", "long phases, requests", "/s", "higher",
             Bar("tcp", 1.0)),
            ("short_follows_ms", "short_follows",
             "short phases, until all are on TCP", "ms", "lower",
             Bar(None, 100)),
            ("long_follows_ms", "long_follows",
             "long phases, until all are on SMC", "ms", "lower",
             Bar(None, 700))):
        columns = ("learns",) if bar.over is None else ("tcp", "learns", "smc")
        yield Cell("learn", key, title, unit, better, columns,
                   own("alternate", TWO, pick), [bar], expect=None,
                   ours="learns", big=True)


def idle():
    yield Cell("idle", "wakeups", "128 idle connections, wake-ups of both ends",
               "/s", "lower", ("tcp", "smc"), idling(wakeups), [Bar(None, 0)])
    yield Cell("idle", "memory", "memory of an idle connection besides 2 RMBE",
               "KiB", "lower", ("smc",), idling(beyond_buffers),
               [Bar(None, 4)])


SECTIONS = {
    "pingpong": pingpong,
    "asleep": asleep,
    "cpu": cpu,
    "hogs": hogs,
    "stream": stream,
    "messages": messages,
    "connect": connect,
    "first": first,
    "passthrough": passthrough,
    "manyconn": manyconn,
    "idle": idle,
    "learn": learn,
    "short": short,
}
