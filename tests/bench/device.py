# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""device: a private smc_r0, made by mkdev and chdev as an operator would.

Each device has its own attribute database and run directory, so nothing of
the host's settings is read or changed. Attributes not named keep their
defaults.
"""
import os
import pwd
import re
import subprocess

# Server ports of the cells. Matching ones are in port_range_list.
MATCHING = (17600, 18399)
NOT_MATCHING = (18400, 18999)

# Lines of entstat that tell how connections were carried.
ON_SMC = re.compile(r"connections.*\bSMC\b|\bSMC(-R)?\b.*connections", re.I)
ON_TCP = re.compile(r"(stayed|fell back|fallback).*TCP|TCP.*fall", re.I)


class DeviceError(Exception):
    pass


def as_user(user, argv):
    """The command, run as that user when we are root and it is another."""
    if not user or os.geteuid() != 0 or user == "root":
        return argv
    return ["setpriv", f"--reuid={user}", f"--regid={user}",
            "--init-groups", "--"] + argv


class Device:
    """One smc_r0 of one build, for one user."""

    def __init__(self, build, where, enabled=True, user=None):
        self.bin = os.path.join(os.path.abspath(build), "bin")
        self.user = user
        self.enabled = enabled
        self.odm = os.path.join(where, "objrepos")
        self.run_dir = os.path.join(where, "run")
        os.makedirs(self.odm, mode=0o755)
        os.makedirs(self.run_dir, mode=0o755)
        if user and os.geteuid() == 0:
            owner = pwd.getpwnam(user)
            for d in (where, self.odm, self.run_dir):
                os.chown(d, owner.pw_uid, owner.pw_gid)

    def environment(self):
        e = dict(os.environ)
        e["ODMDIR"] = self.odm
        e["SMC_R_RUNDIR"] = self.run_dir
        e.pop("LD_PRELOAD", None)
        return e

    def command(self, argv, check=True):
        argv = [os.path.join(self.bin, argv[0])] + argv[1:]
        told = subprocess.run(as_user(self.user, argv), text=True,
                              env=self.environment(), capture_output=True)
        if check and told.returncode:
            raise DeviceError(f"{' '.join(argv)}: exit {told.returncode}: "
                              f"{told.stderr.strip() or told.stdout.strip()}")
        return told.stdout

    def make(self):
        self.command(["mkdev", "-c", "tcpip", "-t", "smc_r"])
        self.command(["chdev", "-l", "smc_r0",
                      "-a", f"enabled={1 if self.enabled else 0}",
                      "-a", "ip_addr_list=127.0.0.1,::1",
                      "-a", f"port_range_list={MATCHING[0]}-{MATCHING[1]}"])
        return self

    def remove(self):
        self.command(["rmdev", "-l", "smc_r0", "-d"], check=False)

    def prefix(self):
        return [os.path.join(self.bin, "smc_run")]

    def counters(self):
        """Every "name: number" of entstat, names as printed."""
        found = {}
        for line in self.command(["entstat", "-d", "smc_r0"]).splitlines():
            for name, value in re.findall(r"\s*([^:]+?):\s+(\d+)\b", line):
                found[name.strip()] = found.get(name.strip(), 0) + int(value)
        return found

    def carried(self):
        """How many connections so far were on SMC, and how many not."""
        c = self.counters()
        return (sum(v for k, v in c.items() if ON_SMC.search(k)),
                sum(v for k, v in c.items() if ON_TCP.search(k)))
