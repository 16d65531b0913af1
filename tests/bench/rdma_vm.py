# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""rdma_vm: ofed_core beside the kernel's rdma_rxe, both in a virtual machine.

The machine is that of tests/kernel: the image is made by "make check-kernel",
which may have to download a kernel. It is emulated (TCG) unless
$OFED_KERNEL_ACCEL says "kvm", so only columns of this section may be compared
with each other. Its rdma_rxe knows one network namespace only: both ends run
in that.

Columns: tcp, over the loopback interface; rxe; rdma, over ofed_core.
"""
import json
import os
import re
import subprocess
import sys

from apps import App
from cell import Bar, Cell, CellError
from rdma import ip, last_numbers, wait_until

KERNEL = os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "kernel")
HOST = "10.77.0.1"
GUEST = "10.77.0.2"  # see tests/kernel/guest.sh
SHELL_PORT = 7000
PERFTEST_PORT = 18515
IPERF_PORT = 17599
START_SECONDS = 90


class Machine:
    """words are for guest.sh."""

    def __init__(self, image, log, words=""):
        self.image = image
        self.log = log
        self.words = words
        self.name = f"benchvm{os.getpid()}"
        self.process = None

    def start(self):
        ip("netns", "add", self.name)
        ip("-n", self.name, "tuntap", "add", "dev", "ent0", "mode", "tap")
        ip("-n", self.name, "addr", "add", f"{HOST}/24", "dev", "ent0")
        ip("-n", self.name, "link", "set", "ent0", "up")
        with open(os.path.join(self.log, "rdma_vm.log"), "wb") as out:
            self.process = subprocess.Popen(
                self.inside(self.command()), stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT)
        if not wait_until(START_SECONDS, self.answers):
            raise CellError("the virtual machine does not answer; see "
                            f"{self.log}/rdma_vm.log")

    def command(self):
        return ["qemu-system-x86_64", "-nodefaults", "-no-user-config",
                "-display", "none", "-no-reboot", "-M", "q35", "-m", "1200",
                "-smp", "2", "-cpu", "max",
                "-accel", os.environ.get("OFED_KERNEL_ACCEL",
                                         "tcg,thread=multi"),
                "-kernel", f"{self.image}/vmlinuz",
                "-initrd", f"{self.image}/initramfs",
                "-append", "console=ttyS0 quiet panic=-1 mitigations=off "
                "no_timer_check "
                "tsc=reliable random.trust_cpu=on net.ifnames=0 " +
                self.words,
                "-serial", "stdio", "-monitor", "none",
                "-virtfs", "local,path=/,mount_tag=host,security_model=none,"
                "readonly=on,multidevs=remap",
                "-netdev",
                "tap,id=net,ifname=ent0,script=no,downscript=no",
                "-device", "virtio-net-pci,netdev=net,"
                "mac=52:54:00:00:00:02,romfile="]

    def inside(self, argv):
        return ["ip", "netns", "exec", self.name] + argv

    def answers(self):
        if self.process.poll() is not None:
            raise CellError("the virtual machine ended; see "
                            f"{self.log}/rdma_vm.log")
        return self.ask("true").returncode == 0

    def ask(self, command):
        return subprocess.run(
            self.inside([sys.executable, os.path.join(KERNEL, "shell.py"),
                         "ask", GUEST, str(SHELL_PORT), command]),
            capture_output=True, text=True)

    def run(self, command):
        told = self.ask(command)
        if told.returncode:
            raise CellError(f"in the virtual machine: "
                            f"{told.stdout.strip()[-300:]}")
        return told.stdout

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        subprocess.run(["ip", "netns", "del", self.name], check=False)


class RdmaVm(App):
    needs = ("ip", "qemu-system-x86_64", "iperf3", "qperf", "ib_send_bw",
             "ib_read_bw", "ib_send_lat")
    columns = ("tcp", "rxe", "rdma")

    def __init__(self, where, log):
        super().__init__(where, log)
        self.machine = None
        self.environment = ""

    def prepare(self, columns):
        if os.geteuid() != 0:
            raise CellError("a virtual machine's network needs root")
        build = os.path.abspath(
            next(c.build for c in columns if c.kind == "rdma"))
        image = os.path.join(build, "kernel")
        if not os.path.exists(os.path.join(image, "initramfs")):
            raise CellError("make check-kernel has not been run")
        self.machine = Machine(image, self.servers.log)
        self.machine.start()
        self.environment = (f"export PATH={build}/bin:$PATH "
                            "OFED_CONF=/run/none OFED_CORE_RUNDIR=/run/ofed")
        self.machine.run(f"mkdir -p /run/ofed; {self.environment}; ofed_core")

    def finish(self):
        if self.machine:
            self.machine.stop()
        super().finish()

    # ---- A server and its client, both in the machine ----

    def pair(self, server, client, port):
        return self.machine.run(
            f"{self.environment}; "
            f"timeout 60 {server} >/run/server 2>&1 & "
            f"until ss -Hltn 'sport = :{port}' | grep -q .; do "
            f"sleep 0.05; kill -0 $! || exit 1; done; "
            f"timeout 60 {client}; status=$?; wait $!; exit $status")

    def perftest(self, column, argv, size, field):
        argv = f"{argv} -d {'rxe0' if column.kind == 'rxe' else 'ent0'} " \
               f"-x 1 -s {size} -F"
        if column.kind == "rdma":
            argv = f"ofed_run {argv}"
        told = self.pair(argv, f"{argv} {GUEST}", PERFTEST_PORT)
        return last_numbers(told, size)[field]

    def iperf(self, seconds):
        told = self.pair(
            f"iperf3 -s -1 -p {IPERF_PORT}",
            f"iperf3 -c 127.0.0.1 -J -p {IPERF_PORT} "
            f"-t {max(1, round(seconds))}", IPERF_PORT)
        rate = json.loads(told)["end"]["sum_received"]["bits_per_second"]
        return {"value": rate / 8e9}

    def bulk(self, program, count):
        """GB/s; TCP by iperf3."""
        def go(_, column, seconds):
            if column.kind == "tcp":
                return self.iperf(seconds)
            mib_s = self.perftest(column, f"{program} -e "
                                  f"-n {int(count * max(seconds, 0.2))}",
                                  65536, 3)
            return {"value": mib_s * 1048576e-9}
        return go

    def latency(self, size, count):
        def go(_, column, seconds):
            if column.kind != "tcp":
                return {"value": self.perftest(
                    column, f"ib_send_lat -e "
                    f"-n {int(count * max(seconds, 0.2))}", size, 5)}
            told = self.pair("qperf", "qperf 127.0.0.1 "
                             f"-t {max(1, round(seconds))} -m {size} -uu "
                             "tcp_lat quit", 19765)
            found = re.search(r"latency\s*=\s*([\d.]+) (\w+)", told)
            if not found:
                raise CellError(f"qperf said: {told.strip()[-300:]}")
            return {"value": float(found.group(1)) *
                    {"ns": 1e-3, "us": 1, "ms": 1e3}[found.group(2)]}
        return go

    # ---- Cells ----

    def cell(self, key, title, unit, better, runner):
        return Cell("rdma_vm", key, title, unit, better, self.columns, runner,
                    [Bar("rxe", None)], expect=None, big=True, ours="rdma")

    def cells(self):
        yield self.cell("send_bw", "in a machine, 64 KiB SEND, events",
                        "GB/s", "higher", self.bulk("ib_send_bw", 4000))
        yield self.cell("read_bw", "in a machine, 64 KiB READ, events",
                        "GB/s", "higher", self.bulk("ib_read_bw", 4000))
        yield self.cell("send_lat", "in a machine, 8 B SEND, events", "us",
                        "lower", self.latency(8, 3000))
