# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""apps: figures of other people's programs, unchanged, as Debian ships them.

Each section starts one server for each column, on a port of its own, and
keeps it for all rounds; the server of a column is idle while another column
is measured. Servers are bound to one core, clients to the other, except for
PostgreSQL, which is a process for each connection.
"""
import json
import os
import re
import shutil
import subprocess
import time

from cell import (Bar, Cell, CellError, CLIENT_CORE, SERVER_CORE,
                  matching_ports, run)
from device import as_user

KIB = 1024
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's packages
FRAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.py")


def bound(core, argv):
    return ["taskset", "-c", str(core)] + argv


def is_listening(port):
    """Looks without connecting: a connection would be counted."""
    wanted = f":{port:04X}"
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="ascii") as f:
            for line in f.readlines()[1:]:
                field = line.split()
                if field[1].endswith(wanted) and field[3] == "0A":
                    return True
    return False


class Servers:
    """One server for each column, in a session of its own: Apache ends its
    whole process group."""

    def __init__(self, where, log):
        self.where, self.log = where, log
        self.running = []
        self.port = {}
        self.made = {}

    def start(self, column, argv, port, user=None):
        out = open(os.path.join(self.log, f"server.{port}.log"), "wb")
        env = column.environment()
        p = subprocess.Popen(as_user(user, column.command(argv)),
                             env=env, stdout=out,
                             stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, cwd=self.where,
                             start_new_session=True)
        out.close()
        self.running.append(p)
        for _ in range(300):
            if is_listening(port):
                self.port[column.name] = port
                return port
            if p.poll() is not None:
                break
            time.sleep(0.05)
        raise CellError(f"{argv[0]} does not listen on port {port}; see "
                        f"{self.log}/server.{port}.log")

    def stop(self):
        for p in self.running:
            p.terminate()
        for p in self.running:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.running = []


class App:
    """A section: the programs it needs, its servers, its cells."""

    needs = ()
    columns = ("tcp", "smc")
    user = None

    def __init__(self, where, log):
        self.servers = Servers(where, log)

    def missing(self):
        return [n for n in self.needs if not shutil.which(
            n, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")]

    def prepare(self, columns):
        for column in columns:
            self.serve(column, matching_ports.take())

    def finish(self):
        self.servers.stop()

    def port(self, column):
        return str(self.servers.port[column.name])

    def client(self, cell, column, argv, limit=180):
        return run(column.command(bound(CLIENT_CORE, argv)),
                   column.environment(cell.env), limit=limit)


class Redis(App):
    needs = ("redis-server", "redis-benchmark")
    columns = ("tcp", "smc", "unix")

    def __init__(self, where, log):
        super().__init__(where, log)
        self.requests = {}

    def socket(self, column):
        return os.path.join(self.servers.where, f"redis.{column.name}")

    def serve(self, column, port):
        argv = ["redis-server", "--port", str(port), "--bind", "127.0.0.1",
                "--save", "", "--appendonly", "no"]
        if column.kind == "unix":
            argv += ["--unixsocket", self.socket(column)]
        self.servers.start(column, bound(SERVER_CORE, argv), port)

    def measure(self, cell, column, clients, pipeline, size, count):
        where = ["-s", self.socket(column)] if column.kind == "unix" else \
            ["-h", "127.0.0.1", "-p", self.port(column)]
        told = self.client(cell, column, ["redis-benchmark"] + where + [
            "-c", str(clients), "-P", str(pipeline), "-d", str(size),
            "-n", str(count), "-t", "set,get", "--csv"])
        rates = dict(re.findall(r'^"(SET|GET)","([\d.]+)"', told, re.M))
        if len(rates) != 2:
            raise CellError(f"redis-benchmark said: {told.strip()[-200:]}")
        return {k.lower(): float(v) for k, v in rates.items()}

    def runner(self, clients, pipeline, size):
        """SET and GET in the same number; the figure is over both."""
        def go(cell, column, seconds):
            if cell.key not in self.requests:
                # As many requests as the first column does in the time.
                unit = 50 * pipeline
                r = self.measure(cell, column, clients, pipeline, size,
                                 unit * 20)
                count = min(r.values()) * seconds / 2
                self.requests[cell.key] = max(unit, int(count / unit) * unit)
            found = self.measure(cell, column, clients, pipeline, size,
                                 self.requests[cell.key])
            found["value"] = 2e-3 / (1 / found["set"] + 1 / found["get"])
            return found
        return go

    def cells(self):
        bars = {(64, 1, 1): (3, 5), (64, 50, 1): (2.5, 3.5),
                (64, 1, 16): (1.5, 1.8), (64, 50, 16): (1.2, 1.35),
                (4 * KIB, 50, 1): (2, 3), (64 * KIB, 50, 1): (1.4, 1.8)}
        for size in (64, 4 * KIB, 64 * KIB):
            for c, p in ((1, 1), (50, 1), (1, 16), (50, 16)):
                bar = bars.get((size, c, p))
                name = f"{size} B" if size < KIB else f"{size // KIB} KiB"
                yield Cell("redis", f"{size}.c{c}.P{p}",
                           f"redis SET+GET {name}, c={c} P={p}", "K/s",
                           "higher", self.columns, self.runner(c, p, size),
                           [Bar("tcp", *bar)] if bar else [], big=True)


class Memcached(App):
    needs = ("memcached", "memcaslap")

    def serve(self, column, port):
        # One worker thread, as the client has one; -u when we are root.
        argv = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1",
                "-m", "256", "-U", "0"]
        if os.geteuid() == 0:
            argv += ["-u", "root"]
        self.servers.start(column, bound(SERVER_CORE, argv), port)
        path = os.path.join(self.servers.where, "memaslap.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write("key\n32 32 1\nvalue\n64 64 1\ncmd\n0 0.1\n1 0.9\n")

    def runner(self, clients):
        def go(cell, column, seconds):
            told = self.client(cell, column, [
                "memcaslap", "-s", f"127.0.0.1:{self.port(column)}", "-T", "1",
                "-c", str(clients), "-t", f"{max(1, round(seconds))}s", "-F",
                os.path.join(self.servers.where, "memaslap.conf")])
            rate = re.search(r"TPS:\s*(\d+)", told)
            if not rate:
                raise CellError(f"memcaslap said: {told.strip()[-200:]}")
            return {"value": float(rate.group(1)) * 1e-3}
        return go

    def cells(self):
        for c, must, moon in ((1, 3, 4.5), (16, 2, 3.5)):
            yield Cell("memcached", f"64.c{c}",
                       f"memcached 64 B, 9 gets to 1 set, c={c}", "K/s",
                       "higher", self.columns, self.runner(c),
                       [Bar("tcp", must, moon)], big=True)


NGINX_CONF = """
daemon off;
worker_processes 1;
{user}
pid {dir}/nginx.pid;
error_log {dir}/error.log warn;
events {{ worker_connections 1024; }}
http {{
	access_log off;
	sendfile {sendfile};
	tcp_nopush on;
	keepalive_requests 1000000;
	client_body_temp_path {dir}/body;
	proxy_temp_path {dir}/proxy;
	fastcgi_temp_path {dir}/fastcgi;
	uwsgi_temp_path {dir}/uwsgi;
	scgi_temp_path {dir}/scgi;
	server {{
		listen 127.0.0.1:{port};
		root {files};
	}}
}}
"""


class Nginx(App):
    needs = ("nginx", "wrk")
    sendfile = "on"

    def serve(self, column, port):
        where = os.path.join(self.servers.where, f"nginx.{column.name}")
        files = os.path.join(self.servers.where, "files")
        os.makedirs(where)
        os.makedirs(files, exist_ok=True)
        for name, size in (("1k", KIB), ("100k", 100 * KIB),
                           ("1m", KIB * KIB)):
            with open(os.path.join(files, name), "wb") as f:
                f.write(b"n" * size)
        path = os.path.join(where, "nginx.conf")
        user = "user root;" if os.geteuid() == 0 else ""
        with open(path, "w", encoding="ascii") as f:
            f.write(NGINX_CONF.format(dir=where, port=port, files=files,
                                      user=user, sendfile=self.sendfile))
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        self.servers.start(column, bound(SERVER_CORE, [
            nginx, "-c", path, "-p", where, "-e",
            os.path.join(where, "error.log")]), port)

    def runner(self, clients, name):
        def go(cell, column, seconds):
            told = self.client(cell, column, [
                "wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s",
                f"http://127.0.0.1:{self.port(column)}/{name}"])
            rate = re.search(r"Requests/sec:\s*([\d.]+)", told)
            if not rate or "Non-2xx" in told or "Socket errors" in told:
                raise CellError(f"wrk said: {told.strip()[-200:]}")
            return {"value": float(rate.group(1)) * 1e-3}
        return go

    def cells(self):
        for name, words, must, moon in (
                ("1k", "1 KiB", 1.5, 2.1), ("100k", "100 KiB", 1.3, 1.8),
                ("1m", "1 MiB", 1.2, 1.7)):
            yield Cell("nginx", f"{name}.c50",
                       f"nginx + wrk {words}, keep-alive, sendfile, c=50",
                       "K/s", "higher", self.columns, self.runner(50, name),
                       [Bar("tcp", must, moon)], big=True)


class Iperf(App):
    needs = ("iperf3",)

    def prepare(self, columns):
        """iperf3 -1 ends after one test, so each run has its own server."""

    def runner(self, options):
        def go(cell, column, seconds):
            port = matching_ports.take()
            server = Servers(self.servers.where, self.servers.log)
            try:
                server.start(column, bound(SERVER_CORE, [
                    "iperf3", "-s", "-1", "-p", str(port)]), port)
                told = json.loads(self.client(cell, column, [
                    "iperf3", "-c", "127.0.0.1", "-p", str(port), "-J",
                    "-t", str(max(1, round(seconds)))] + options))
            finally:
                server.stop()
            rate = told["end"]["sum_received"]["bits_per_second"]
            return {"value": rate * 1e-9}
        return go

    def cells(self):
        for key, options, must, moon in (
                ("default", [], 2, 2.5), ("1K", ["-l", "1K"], 6, 12),
                ("zerocopy", ["-Z"], 1.5, 2)):
            yield Cell("iperf3", key,
                       "iperf3 " + (" ".join(options) or "default"), "Gbit/s",
                       "higher", self.columns, self.runner(options),
                       [Bar("tcp", must, moon)], big=True)


class Pgbench(App):
    needs = ("pgbench",)
    user = "postgres"
    scale = 10

    def __init__(self, where, log):
        super().__init__(where, log)
        versions = "/usr/lib/postgresql"
        self.bin = None
        if os.path.isdir(versions):
            newest = max(os.listdir(versions), key=int, default=None)
            if newest:
                self.bin = os.path.join(versions, newest, "bin")

    def missing(self):
        return super().missing() + ([] if self.bin else ["postgresql"])

    def plain(self, argv):
        """A command of the preparation, without the engine."""
        run(argv, dict(os.environ, PGUSER="postgres"), limit=300,
            user=self.user)

    def serve(self, column, port):
        data = os.path.join(self.servers.where, f"pg.{column.name}")
        self.plain([os.path.join(self.bin, "initdb"), "-D", data, "-A",
                    "trust", "-U", "postgres", "--no-sync"])
        self.servers.start(column, [
            os.path.join(self.bin, "postgres"), "-D", data, "-p", str(port),
            "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
            "-c", f"unix_socket_directories={self.servers.where}",
            "-c", "shared_buffers=256MB", "-c", "autovacuum=off"],
            port, user=self.user)
        # Filled through the AF_UNIX socket, which no column measures.
        self.plain(["pgbench", "-i", "-q", "-s", str(self.scale), "-h",
                    self.servers.where, "-p", str(port), "postgres"])

    def runner(self, clients, *options):
        def go(cell, column, seconds):
            env = column.environment(cell.env)
            env["PGUSER"] = "postgres"
            told = run(column.command([
                "pgbench", "-S", "-n", *options, "-c", str(clients), "-j", "2",
                "-T", str(max(1, round(seconds))), "-h", "127.0.0.1",
                "-p", self.port(column), "postgres"]),
                env, limit=180, user=self.user)
            rate = re.search(r"tps = ([\d.]+)", told)
            if not rate:
                raise CellError(f"pgbench said: {told.strip()[-200:]}")
            count = re.search(r"actually processed: (\d+)", told)
            return {"value": float(rate.group(1)) * 1e-3,
                    "count": int(count.group(1)) if count else 0}
        return go

    def cells(self):
        yield Cell("pgbench", "S.c4", "pgbench -S, c=4", "K/s", "higher",
                   self.columns, self.runner(4), [Bar("tcp", 1.2, 1.5)],
                   big=True)


class Websockets(App):
    """One message from each of fifteen clients at once, and back: both ends
    are event loops that make messages before they look for room."""

    needs = (PYTHON,)
    clients, size = 15, 2000000

    def missing(self):
        there = os.path.exists(PYTHON) and subprocess.run(
            [PYTHON, "-c", "import websockets"], check=False,
            stderr=subprocess.DEVNULL).returncode == 0
        return [] if there else ["python3-websockets"]

    def serve(self, column, port):
        self.servers.start(column, bound(SERVER_CORE, [
            PYTHON, FRAMES, "serve", str(port)]), port)

    def runner(self):
        def go(cell, column, seconds):
            told = self.client(cell, column, [
                PYTHON, FRAMES, "ask", self.port(column), str(self.clients),
                str(self.size), str(seconds)])
            return {"value": float(told)}
        return go

    def cells(self):
        yield Cell("websockets", "2m.c15", "websockets 15 x 2 MB", "/s",
                   "higher", self.columns, self.runner(), [Bar("tcp", 1)],
                   big=True)


APPS = {
    "iperf3": Iperf,
    "redis": Redis,
    "memcached": Memcached,
    "nginx": Nginx,
    "pgbench": Pgbench,
    "websockets": Websockets,
}
