# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""device: a private smc_r0, made by mkdev and chdev as an operator would.

Each device has its own attribute database and run directory, so nothing of
the host's settings is read or changed. Attributes not named keep their
defaults.
"""
import json
import os
import pwd
import subprocess

# Server ports of the cells. Matching ones are in port_range_list.
MATCHING = (17600, 18399)
NOT_MATCHING = (18400, 18999)

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

    def __init__(self, build, where, enabled=True, user=None, learns=False):
        self.bin = os.path.join(os.path.abspath(build), "bin")
        self.user = user
        self.enabled = enabled
        self.learns = learns  # autosmc
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
        if not os.path.exists(argv[0]):
            raise DeviceError(f"{argv[0]}: is not there; run make first")
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
        # Most cells measure SMC, short connections included. An older build
        # has no such attribute.
        self.command(["chdev", "-l", "smc_r0", "-a",
                      f"autosmc={'yes' if self.learns else 'no'}"],
                     check=False)
        return self

    def remove(self):
        self.command(["rmdev", "-l", "smc_r0", "-d"], check=False)

    def prefix(self):
        return [os.path.join(self.bin, "smc_run")]

    def look(self):
        """What entstat knows now: counters since the device was made, the
        memory of all RMBs, connections and reasons."""
        seen = json.loads(self.command(["entstat", "-j", "smc_r0"]))
        return Look(seen)


class Look:
    """One answer of entstat."""

    def __init__(self, seen):
        self.counters = seen["absolute"]
        self.rmb_bytes = seen["now"]["rmb_bytes"]
        self.rmbe_bytes = max((c["rmbe_in"] for c in seen["connections"]),
                              default=0)
        self.reasons = {r["name"]: r["count"] for r in seen["reasons"]}

    def since(self, before):
        """Counters that moved, and the reasons of new connections on TCP.

        Connections that were closed before the handshake was over carried
        nothing, by either way: some clients try an address like that.
        """
        moved = {k: v - before.counters.get(k, 0)
                 for k, v in self.counters.items()
                 if v != before.counters.get(k, 0)}
        why = {k: v - before.reasons.get(k, 0)
               for k, v in self.reasons.items()
               if v != before.reasons.get(k, 0)}
        moved["tcp_connections"] = moved.get("tcp_connections", 0) - \
            why.pop("CLOSED", 0)
        return moved, ", ".join(f"{k} {v}" for k, v in why.items())
