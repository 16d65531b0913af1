# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""smc_vm: our SMC-R beside the kernel's, both over rdma_rxe in a virtual
machine, with the same program.

The machine and the second host in it, the namespace "neighbour", are those of
tests/kernel; see rdma_vm.py. The client is in the machine proper, the server
the neighbour, but for from_kernel. It is SMC-R version 1, as version 2 of Linux
6.1 does not reach the machine itself. TCP goes over a veth pair.

Columns: tcp; kernel, its AF_SMC at both ends; to_kernel, our client and the
kernel's server; from_kernel, the reverse; ours, at both ends.
"""
import os
import re

from apps import App
from cell import Bar, Cell, CellError
from rdma_vm import KERNEL, Machine

HOME, NEIGHBOUR = "10.77.0.2", "10.77.0.77"
# The kernel's client needs an address on the interface that it leaves by.
HOME_VETH, NEIGHBOUR_VETH = "10.78.0.1", "10.78.0.2"
QPERF_PORT = 19765
THERE = "nsenter --net=/run/netns/neighbour "
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6,
         "bytes/sec": 1e-6, "KB/sec": 1e-3, "MB/sec": 1, "GB/sec": 1e3}


def device(name):
    return f"env ODMDIR=/run/{name} SMC_R_RUNDIR=/run/{name}/run " \
           "SMC_R_HANDSHAKE=8000 "


class SmcVm(App):
    needs = ("ip", "qemu-system-x86_64", "qperf")
    columns = ("tcp", "kernel", "to_kernel", "from_kernel", "ours")

    def __init__(self, where, log):
        super().__init__(where, log)
        self.machine = None
        self.ways = {}
        self.path = ""

    def prepare(self, columns):
        if os.geteuid() != 0:
            raise CellError("a virtual machine's network needs root")
        build = os.path.abspath(
            next(c.build for c in columns if c.kind == "ours"))
        image = os.path.join(build, "kernel")
        if not os.path.exists(os.path.join(image, "smc")):
            raise CellError("make check-kernel has not been run")
        self.path = f"export PATH={build}/bin:$PATH; "
        self.machine = Machine(image, self.servers.log, "smc")
        self.machine.start()
        self.machine.run(
            f"set -e; {KERNEL}/smc.py pnet eth0 rxe0; {KERNEL}/neighbour.sh; "
            f"{KERNEL}/smc.py pnet veth0; "
            f"ip addr add {HOME_VETH}/24 dev veth0; "
            f"ip -n neighbour addr add {NEIGHBOUR_VETH}/24 dev eth1; " +
            self.path + self.make_device("", "home", HOME) +
            self.make_device(THERE, "there", NEIGHBOUR))
        kernel = f"env LD_PRELOAD={build}/obj/plain/tests/kernel/af_smc.so "
        home, there = (device(n) + "smc_run " for n in ("home", "there"))
        # What is before the server, before the client, and the address.
        self.ways = {
            "tcp": (THERE, "", NEIGHBOUR),
            "kernel": (THERE + kernel, kernel, NEIGHBOUR_VETH),
            "to_kernel": (THERE + kernel, home, NEIGHBOUR),
            "from_kernel": (home, THERE + kernel, HOME),
            "ours": (THERE + there, home, NEIGHBOUR)}

    @staticmethod
    def make_device(where, name, address):
        return f"mkdir -m 755 /run/{name}; {where}{device(name)}" \
            "mkdev -q -c tcpip -t smc_r -a enabled=1 -a autosmc=no " \
            f"-a ip_addr_list={address} -a port_range_list=1000-65535; "

    def finish(self):
        if self.machine:
            self.machine.stop()
        super().finish()

    def smc_connections(self):
        """So many had the kernel's two hosts, and our two devices."""
        told = self.machine.run(
            f"{self.path}{KERNEL}/smc.py versions; "
            f"{THERE}{KERNEL}/smc.py versions; " +
            "".join(f"{device(n)} entstat -d smc_r0 | "
                    "sed -n 's/^SMC-R Connections: //p'; "
                    for n in ("home", "there")))
        return sum(int(n) for n in told.split())

    def qperf(self, test, size, field):
        def go(_, column, seconds):
            server, client, address = self.ways[column.kind]
            where = THERE if server.startswith(THERE) else ""
            before = self.smc_connections()
            told = self.machine.run(
                f"{self.path} timeout 60 {server} qperf >/run/server 2>&1 & "
                f"until {where} ss -Hltn 'sport = :{QPERF_PORT}' | "
                "grep -q .; do sleep 0.1; kill -0 $! || exit 1; done; "
                f"{self.path} timeout 60 {client} qperf {address} "
                f"-t {max(1, round(seconds))} -m {size} -uu {test} quit; "
                "status=$?; wait $!; exit $status")
            found = re.search(rf"{field}\s*=\s*([\d.]+) (\S+)", told)
            # Three connections, counted at both ends.
            moved = self.smc_connections() - before
            if moved != (0 if column.kind == "tcp" else 6):
                raise CellError(f"{moved} ends were on SMC-R")
            if not found:
                raise CellError(f"qperf said: {told.strip()[-300:]}")
            return {"value": float(found.group(1)) * UNITS[found.group(2)]}
        return go

    def cell(self, key, title, unit, better, runner, must):
        return Cell("smc_vm", key, title, unit, better, self.columns, runner,
                    [Bar("kernel", must)], expect=None, big=True, ours="ours")

    def cells(self):
        yield self.cell("lat", "in a machine over rxe, 64 B, one way", "us",
                        "lower", self.qperf("tcp_lat", 64, "latency"), 1.5)
        yield self.cell("bw", "in a machine over rxe, stream of 64 KiB",
                        "MB/s", "higher",
                        self.qperf("tcp_bw", 65536, "bw"), 0.9)
