# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""machine: what it is, and how much of it others took while we measured.

Foreign time is what /proc/stat counts as running beyond what this process
and its descendants used; stolen time is what the hypervisor gave to others.
Both are shares of all cores, 0 to 1.
"""
import os
import platform
import resource
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))


def first_match(path, name):
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith(name):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return "unknown"


def revision(root):
    """The commit that was measured, "-changed" when files differ from it."""
    try:
        told = subprocess.run(
            ["git", "-C", root, "describe", "--always", "--dirty=-changed"],
            capture_output=True, text=True, check=True)
        return told.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def facts(root):
    return {
        "processor": first_match("/proc/cpuinfo", "model name"),
        "cores": len(CORES),
        "memory": first_match("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "hypervisor": "yes" if " hypervisor" in
                      first_match("/proc/cpuinfo", "flags") else "no",
        "clocksource": text_of("/sys/devices/system/clocksource/"
                               "clocksource0/current_clocksource"),
        "revision": revision(root),
        "date": time.strftime("%Y-%m-%d %H:%M %z"),
    }


def ticks():
    """Seconds since boot of (running, stolen) over all cores.

    Interrupt columns are left out: the loopback device's soft interrupts
    are ours, and no process is charged with them.
    """
    with open("/proc/stat", encoding="ascii") as f:
        field = [int(x) for x in f.readline().split()[1:]]
    return (field[0] + field[1] + field[2]) / TICK, field[7] / TICK


def descendants_seconds():
    """Processor time of living descendants, with that of their dead."""
    parent, used = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8",
                      errors="replace") as f:
                field = f.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        parent[int(name)] = int(field[1])
        used[int(name)] = sum(int(x) for x in field[11:15]) / TICK
    total = 0.0
    me = os.getpid()
    for pid in used:
        at = pid
        while at in parent and at != me:
            at = parent[at]
        if at == me and pid != me:
            total += used[pid]
    return total


def own_seconds():
    total = descendants_seconds()
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        u = resource.getrusage(who)
        total += u.ru_utime + u.ru_stime
    return total


class Watch:
    """with Watch() as w: ...; then w.foreign and w.stolen are shares."""

    def __enter__(self):
        self.own = own_seconds()
        self.running, self.stealing = ticks()
        self.begin = time.monotonic()
        return self

    def __exit__(self, *_):
        span = (time.monotonic() - self.begin) * os.cpu_count()
        running, stealing = ticks()
        own = own_seconds()
        self.used = own - self.own
        foreign = (running - self.running) - self.used
        self.foreign = max(0.0, foreign / span)
        self.stolen = max(0.0, (stealing - self.stealing) / span)
        return False

    def taken(self):
        return self.foreign + self.stolen


def wait_quiet(limit, seconds):
    """Waits until others take less than limit of the machine; False: never."""
    end = time.monotonic() + seconds
    while True:
        with Watch() as w:
            time.sleep(0.2)
        if w.taken() <= limit:
            return True
        if time.monotonic() > end:
            return False
