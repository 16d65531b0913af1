# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""short_apps: other people's programs with a connection for each request.

Columns are TCP, and SMC as an operator has it: with autosmc. Each row is judged
by twenty alternating pairs: rate and processor time. A round begins after the
other column's, when the port is on SMC again, so that it pays for the turn.
"""
import os
import re
import shutil
import time

from apps import App, KIB, NGINX_CONF, Pgbench, bound
from cell import Cell, CellError, SERVER_CORE, matching_ports, short_bars

PAIRS = 20
MODULES = "/usr/lib/apache2/modules"


class Short(App):
    """A server that closes after each answer; most are asked by ab."""

    columns = ("tcp", "learns")
    clients = (16,)
    needs = ("ab",)
    name = ""
    title = ""

    def write(self, path, text):
        path = os.path.join(self.servers.where, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def directory(self, column, kind):
        path = os.path.join(self.servers.where, f"{kind}.{column.name}")
        os.makedirs(path, exist_ok=True)
        return path

    def operations(self, cell, column, seconds, clients):
        """(how many, in how many seconds)"""
        told = self.client(cell, column, [
            "ab", "-q", "-c", str(clients), "-t", str(max(1, round(seconds))),
            "-n", "10000000", f"http://127.0.0.1:{self.port(column)}/1k"])
        found = {k: re.search(rf"^{k}:\s+([\d.]+)", told, re.M) for k in
                 ("Time taken for tests", "Complete requests",
                  "Failed requests")}
        if None in found.values() or "Non-2xx" in told or \
                found["Failed requests"].group(1) != "0":
            raise CellError(f"ab said: {told.strip()[-200:]}")
        return (int(found["Complete requests"].group(1)),
                float(found["Time taken for tests"].group(1)))

    def runner(self, clients):
        def go(cell, column, seconds):
            count, took = self.operations(cell, column, seconds, clients)
            return {"value": count / took, "operations": count}
        return go

    def cells(self):
        for c in self.clients:
            yield Cell("short", f"{self.name}.c{c}", f"{self.title}, c={c}",
                       "/s", "higher", self.columns, self.runner(c),
                       short_bars(), expect=None, big=True, ours="learns",
                       rounds=PAIRS)


class Apache(Short):
    name, title = "apache", "Apache prefork, no keep-alive"
    needs = ("apache2", "ab")
    clients = (1, 4, 16, 64)

    def serve(self, column, port):
        where = self.directory(column, "apache")
        self.write("files/1k", "a" * KIB)
        conf = self.write(f"apache.{column.name}/conf", f"""
ServerName 127.0.0.1
ServerRoot {where}
DefaultRuntimeDir {where}
PidFile {where}/pid
ErrorLog {where}/error.log
LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
Listen 127.0.0.1:{port}
User www-data
Group www-data
DocumentRoot {self.servers.where}/files
KeepAlive Off
StartServers 8
MinSpareServers 8
MaxSpareServers 80
MaxRequestWorkers 80
""")
        os.chmod(self.servers.where, 0o755)
        self.servers.start(column, bound(SERVER_CORE, [
            "apache2", "-f", conf, "-D", "FOREGROUND"]), port)


class Nginx(Short):
    name, title = "nginx", "nginx, 2 workers, no keep-alive"
    needs = ("nginx", "ab")

    def nginx(self, column, port):
        where = self.directory(column, f"nginx.{port}")
        self.write("files/1k", "n" * KIB)
        conf = NGINX_CONF.format(
            dir=where, port=port, files=f"{self.servers.where}/files",
            user="user root;" if os.geteuid() == 0 else "", sendfile="on")
        conf = conf.replace("worker_processes 1", "worker_processes 2")
        conf = conf.replace("keepalive_requests 1000000",
                            "keepalive_timeout 0")
        path = self.write(os.path.join(where, "conf"), conf)
        self.servers.start(column, bound(SERVER_CORE, [
            shutil.which("nginx") or "/usr/sbin/nginx", "-c", path, "-p",
            where, "-e", os.path.join(where, "error.log")]), port)

    def serve(self, column, port):
        self.nginx(column, port)


class Haproxy(Nginx):
    name, title = "haproxy", "haproxy, both sides closed, before nginx"
    needs = ("haproxy", "nginx", "ab")

    def serve(self, column, port):
        behind = matching_ports.take()
        self.nginx(column, behind)
        conf = self.write(f"haproxy.{column.name}", f"""
global
	nbthread 1
	maxconn 1000
defaults
	mode http
	option httpclose
	timeout connect 5s
	timeout client 10s
	timeout server 10s
listen all
	bind 127.0.0.1:{port}
	server one 127.0.0.1:{behind}
""")
        self.servers.start(column, bound(SERVER_CORE, [
            shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f",
            conf]), port)


class Gunicorn(Short):
    name, title = "gunicorn", "gunicorn sync, 4 workers"
    needs = ("gunicorn", "ab")
    clients = (8, 16, 64)

    def serve(self, column, port):
        self.write("short_page.py", """
def page(environ, start):
    body = b"g" * 1024
    start("200 OK", [("Content-Length", str(len(body)))])
    return [body]
""")
        self.servers.start(column, bound(SERVER_CORE, [
            "gunicorn", "--chdir", self.servers.where, "-w", "4",
            "--log-level", "error", "-b", f"127.0.0.1:{port}",
            "short_page:page"]), port)


NODE_PASSES = """
const net = require('net'), {fork} = require('child_process');
const page = 'HTTP/1.0 200 OK\\r\\nContent-Length: 1024\\r\\n\\r\\n' +
    'j'.repeat(1024);

function answer(socket) {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(page));
    socket.resume();
}

if (process.argv[2] == 'child') {
    process.on('message', (message, socket) => socket && answer(socket));
} else {
    const children = [0, 1].map(() => fork(__filename, ['child']));
    let next = 0;
    net.createServer({pauseOnConnect: true}, socket => {
        socket.on('error', () => {});
        children[next++ % children.length].send('take', socket);
    }).listen(process.argv[2], '127.0.0.1');
}
"""


class Node(Short):
    """Where children keep a socket, it is moved back to TCP before."""

    name, title = "node", "node, each socket passed to a child"
    needs = ("node", "ab")

    def serve(self, column, port):
        script = self.write("passes.js", NODE_PASSES)
        self.servers.start(column, bound(SERVER_CORE, [
            "node", script, str(port)]), port)


class Redis(Short):
    name, title = "redis", "redis-benchmark -k 0, GET"
    needs = ("redis-server", "redis-benchmark")

    def __init__(self, where, log):
        super().__init__(where, log)
        self.count = 0

    def serve(self, column, port):
        self.servers.start(column, bound(SERVER_CORE, [
            "redis-server", "--port", str(port), "--bind", "127.0.0.1",
            "--save", "", "--appendonly", "no"]), port)

    def operations(self, cell, column, seconds, clients):
        def ask(count):
            begin = time.monotonic()
            self.client(cell, column, [
                "redis-benchmark", "-h", "127.0.0.1", "-p", self.port(column),
                "-k", "0", "-c", str(clients), "-n", str(count), "-t", "get",
                "--csv"])
            return time.monotonic() - begin

        if not self.count:
            self.count = int(2000 * seconds / ask(2000))
        return self.count, ask(self.count)


class Dnsmasq(Short):
    name, title = "dnsmasq", "dnsmasq, dig +tcp"
    needs = ("dnsmasq", "dig")
    clients = (1,)
    questions = 500

    def serve(self, column, port):
        self.servers.start(column, bound(SERVER_CORE, [
            "dnsmasq", "-k", "-p", str(port), "-C", "/dev/null", "-a",
            "127.0.0.1", "-z", "-R", "-h", "-A", "/bench.test/127.0.0.2",
            "-u", "root", "-x", ""]), port)

    def operations(self, cell, column, seconds, clients):
        path = self.write("questions", "a.bench.test\n" * self.questions)
        begin = time.monotonic()
        told = self.client(cell, column, [
            "dig", "@127.0.0.1", "-p", self.port(column), "+tcp", "+short",
            "-f", path])
        if told.count("127.0.0.2") != self.questions:
            raise CellError(f"dig said: {told.strip()[-200:]}")
        return self.questions, time.monotonic() - begin


class ShortPgbench(Pgbench):
    columns = ("tcp", "learns")
    scale = 1

    def runner(self, clients):
        ask = super().runner(clients, "-C")

        def go(cell, column, seconds):
            found = ask(cell, column, seconds)
            found["value"] *= 1000
            found["operations"] = found["count"]
            return found
        return go

    def cells(self):
        yield Cell("short", "pgbench.c16", "pgbench -S -C, c=16", "/s",
                   "higher", self.columns, self.runner(16), short_bars(),
                   expect=None, big=True, ours="learns", rounds=PAIRS)


APPS = {
    "short/apache": Apache,
    "short/nginx": Nginx,
    "short/haproxy": Haproxy,
    "short/gunicorn": Gunicorn,
    "short/node": Node,
    "short/redis": Redis,
    "short/dnsmasq": Dnsmasq,
    "short/pgbench": ShortPgbench,
}
