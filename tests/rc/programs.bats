#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# programs: unmodified programs of two hosts, over queue pairs of the RDMA core.
# limit: 240
# lane: any

load hosts
# shellcheck disable=SC2154 # set by hosts.bash
: "${last-}" "${before_b-}"

@test "mkdev loaded a link service on each host" {
	[ -S "$(echo "$PLACE"/a/run/rc.*)" ]
	[ -S "$(echo "$PLACE"/b/run/rc.*)" ]
}

@test "curl gets a file from python's server, whole" {
	need curl
	head -c 3000000 /dev/urandom >"$PLACE/file"
	begin_on a http smc_run python3 -m http.server 8000 --bind "$SERVER" \
		--directory "$PLACE"
	wait_for listens a 8000
	smc_on b curl -s -o "$PLACE/got" "http://$SERVER:8000/file"
	cmp "$PLACE/file" "$PLACE/got"
	all_on_smc 1
}

@test "redis, with a replica on the other host" {
	need redis-server redis-cli redis-benchmark
	begin_on a redis smc_run redis-server --bind "$SERVER" --port 6390 \
		--save '' --protected-mode no --repl-diskless-sync-delay 0 \
		--dir "$PLACE" --dbfilename a.rdb
	wait_for listens a 6390
	begin_on b replica smc_run redis-server --bind 10.83.0.2 --port 6391 \
		--save '' --protected-mode no --replicaof "$SERVER" 6390 \
		--dir "$PLACE" --dbfilename b.rdb
	smc_on b redis-benchmark -h "$SERVER" -p 6390 -n 3000 -c 10 -d 500 \
		-t set,get -q
	smc_on b redis-cli -h "$SERVER" -p 6390 set key value
	wait_for replica_has value
	all_on_smc 12
}

replica_has() { # value
	[ "$(on b redis-cli -h 10.83.0.2 -p 6391 get key)" = "$1" ]
}

@test "nginx and wrk" {
	need nginx wrk
	mkdir -p "$PLACE/www"
	head -c 50000 /dev/urandom >"$PLACE/www/page"
	cat >"$PLACE/nginx.conf" <<-END
		daemon off; worker_processes 2; pid $PLACE/nginx.pid;
		error_log $PLACE/nginx.err;
		events { }
		http { access_log off; root $PLACE/www;
			server { listen $SERVER:8080; } }
	END
	begin_on a nginx smc_run nginx -c "$PLACE/nginx.conf"
	wait_for listens a 8080
	smc_on b wrk -t2 -c10 -d1 "http://$SERVER:8080/page" >"$PLACE/wrk.out"
	[ "$(grep -c "Socket errors\|Non-2xx" "$PLACE/wrk.out")" = 0 ]
	smc_on b curl -s "http://$SERVER:8080/page" | cmp - "$PLACE/www/page"
	all_on_smc 11
}

@test "PostgreSQL of an ordinary user: pgbench and COPY" {
	need psql pgbench setpriv
	local bin user
	bin=$(echo /usr/lib/postgresql/*/bin)
	[ -x "$bin/initdb" ] || skip "PostgreSQL is not installed"
	user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	mkdir "$PLACE/pg"
	chown 65534:65534 "$PLACE/pg"
	"${user[@]}" "$bin/initdb" -D "$PLACE/pg/db" -A trust -U pg >/dev/null
	begin_on a postgres "${user[@]}" smc_run "$bin/postgres" \
		-D "$PLACE/pg/db" -h "$SERVER" -p 5440 -k '' -F
	echo "host all all 10.83.0.0/24 trust" >>"$PLACE/pg/db/pg_hba.conf"
	wait_for listens a 5440
	wait_for smc_on b psql -q -h "$SERVER" -p 5440 -U pg -c \
		"create database bench" postgres
	smc_on b pgbench -q -i -h "$SERVER" -p 5440 -U pg bench 2>&1 | tail -1
	smc_on b pgbench -n -c 4 -t 50 -h "$SERVER" -p 5440 -U pg bench |
		grep "failed transactions: 0"
	smc_on b psql -q -h "$SERVER" -p 5440 -U pg bench -c \
		"copy (select g, md5(g::text) from generate_series(1,50000) g) to stdout" |
		md5sum >"$PLACE/copied"
	on a psql -q -h "$SERVER" -p 5440 -U pg bench -c \
		"copy (select g, md5(g::text) from generate_series(1,50000) g) to stdout" |
		md5sum | cmp - "$PLACE/copied"
	all_on_smc 6
}

@test "iperf3, both ways" {
	need iperf3
	begin_on a iperf3 smc_run iperf3 -s
	wait_for listens a 5201
	smc_on b iperf3 -c "$SERVER" -t 1 >/dev/null
	smc_on b iperf3 -c "$SERVER" -t 1 -P 3 -R >/dev/null
	all_on_smc 6
}

@test "rsync" {
	need rsync
	mkdir -p "$PLACE/from" "$PLACE/to"
	head -c 2000000 /dev/urandom >"$PLACE/from/one"
	seq 1 100000 >"$PLACE/from/two"
	cat >"$PLACE/rsyncd.conf" <<-END
		use chroot = no
		uid = 0
		gid = 0
		[m]
		path = $PLACE/from
	END
	begin_on a rsync smc_run rsync --daemon --no-detach --port 8730 \
		--address "$SERVER" --config "$PLACE/rsyncd.conf"
	wait_for listens a 8730
	smc_on b rsync -a "rsync://$SERVER:8730/m/" "$PLACE/to/"
	diff -r "$PLACE/from" "$PLACE/to"
	all_on_smc 1
}

@test "socat gives the connection to a program without the engine" {
	need socat
	head -c 300000 /dev/zero | tr '\0' q >"$PLACE/in"
	begin_on a socat smc_run socat \
		"TCP-LISTEN:5003,bind=$SERVER,reuseaddr" "EXEC:tr q Q,nofork"
	wait_for listens a 5003
	smc_on b socat -t 5 - "TCP:$SERVER:5003" <"$PLACE/in" >"$PLACE/out"
	tr q Q <"$PLACE/in" | cmp - "$PLACE/out"
	all_on_smc 1 1
}

@test "bash: exec 3<>/dev/tcp, and a program that reads it" {
	begin_on a server smc_run python3 -c '
import socket
s = socket.create_server(("10.83.0.1", 5004))
for _ in range(2):
	c, _ = s.accept()
	line = c.makefile("rb").readline()
	c.sendall(b"got " + line + b"x" * 500000)
	c.close()'
	wait_for listens a 5004
	smc_on b bash -c 'exec 3<>/dev/tcp/10.83.0.1/5004
		echo hello >&3; cat <&3' >"$PLACE/out"
	[ "$(wc -c <"$PLACE/out")" = 500010 ]
	smc_on b bash -c 'exec 3<>/dev/tcp/10.83.0.1/5004
		echo hello >&3; exec cat <&3' >"$PLACE/out"
	[ "$(wc -c <"$PLACE/out")" = 500010 ]
	all_on_smc 2 2
}

@test "a service that is killed resets its connections, and the next hello starts another" {
	need curl
	begin_on a http smc_run python3 -m http.server 8001 --bind "$SERVER" \
		--directory "$PLACE"
	wait_for listens a 8001
	begin_on b reader smc_run python3 -c '
import socket
s = socket.create_connection(("10.83.0.1", 8001))
try:
	print("eof" if s.recv(1) == b"" else "bytes")
except ConnectionResetError:
	print("reset")'
	wait_for is_active b
	kill -KILL "$(service_of b)"
	wait_for grep -q reset "$PLACE/reader.log"
	smc_on b curl -s -o "$PLACE/got" "http://$SERVER:8001/file"
	cmp "$PLACE/file" "$PLACE/got"
	all_on_smc 2
	# The service ends with its keeper: TCP, until another is loaded.
	service=$(service_of b)
	kill -KILL "$(ps -o ppid= "$service")"
	wait_for is_gone "$service"
	smc_on b curl -s -o "$PLACE/got" "http://$SERVER:8001/file"
	why a | grep -q "^OTHER_HOST "
	why b | grep -q "^OTHER_HOST "
	on b chdev -q -l smc_r0 -a enabled=1
	smc_on b curl -s -o "$PLACE/got" "http://$SERVER:8001/file"
	cmp "$PLACE/file" "$PLACE/got"
	all_on_smc 3 1
}

why() { # host
	on "$1" entstat -d smc_r0 | sed -n '/^Reasons for TCP:/,/^$/p'
}

is_gone() { # process, which nobody may have waited for
	[ ! -e "/proc/$1/exe" ]
}

is_active() { # host
	[ "$(counted "$1" active)" -ge 1 ]
}

# The kernel's SMC-R would not connect to it: smc_option_late.bpf.h.
@test "a server that accepts late gets TCP from the next client" {
	begin_on a late smc_run python3 -c '
import select, socket, sys, time
server = socket.create_server((sys.argv[1], 9001))
while True:
    select.select([server], [], [])
    time.sleep(1.5)
    for i in range(2):
        c = server.accept()[0]
        c.send(c.recv(1))
        c.close()
' "$SERVER"
	wait_for listens a 9001
	smc_on b python3 -c '
import socket, sys, time
first = socket.create_connection((sys.argv[1], 9001))
time.sleep(0.4)
second = socket.create_connection((sys.argv[1], 9001))
for s in first, second:
    s.send(b"x")
    assert s.recv(1) == b"x"
third = socket.create_connection((sys.argv[1], 9001))
third.send(b"x")
assert third.recv(1) == b"x"
' "$SERVER"
	all_on_smc 2
	[ "$(($(counted b smc) - before_b))" = 2 ]
}

@test "programs that are killed leave nothing" {
	begin_on a sink smc_run python3 -c '
import socket
s = socket.create_server(("10.83.0.1", 5005))
while True:
	c, _ = s.accept()
	try:
		while c.recv(65536): pass
	except OSError: pass
	c.close()'
	wait_for listens a 5005
	local i
	for ((i = 0; i < 6; i++)); do
		begin_on b killed smc_run python3 -c '
import socket
s = socket.create_connection(("10.83.0.1", 5005))
while True: s.sendall(b"x" * 100000)'
		wait_for is_active b
		sleep 0.1
		kill -KILL -- "-$last"
	done
	wait_for is_quiet
	all_on_smc 6
}

is_quiet() {
	[ "$(counted a active)" = 0 ] && [ "$(counted b active)" = 0 ]
}

wakeups() { # pid
	sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$1/status"
}

@test "idle connections do not wake the services" {
	local a b before after
	begin_on a many smc_run python3 -c '
import socket, sys
server = socket.create_server((sys.argv[1], 9000))
kept = []
while True:
    kept.append(server.accept()[0])
    kept[-1].send(kept[-1].recv(1))
' "$SERVER"
	wait_for listens a 9000
	begin_on b idle smc_run python3 -c '
import socket, sys, time
kept = []
for i in range(30):
    kept.append(socket.create_connection((sys.argv[1], 9000)))
    kept[-1].send(b"x")
    kept[-1].recv(1)
print("ready", flush=True)
time.sleep(60)
' "$SERVER"
	wait_for grep -q ready "$PLACE/idle.log"
	all_on_smc 30
	a=$(service_of a) b=$(service_of b)
	sleep 2
	before=("$(wakeups "$a")" "$(wakeups "$b")")
	sleep 4
	after=("$(wakeups "$a")" "$(wakeups "$b")")
	echo "${before[*]}, then ${after[*]}"
	# TEST LINK may go once.
	[ "$((after[0] - before[0]))" -le 2 ] &&
		[ "$((after[1] - before[1]))" -le 2 ]
}
