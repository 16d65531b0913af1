#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# games: connections of one host that count as those to another one, over a link
# service without a wire (loopback.c): what the engine does beside a TCP
# connection that is silent, under a library that naps where a wake-up could be
# lost.
# limit: 200
# lane: any

PROGRAMS=$(readlink -f "${SMC_R_BUILD:-build}/obj/plain/tests")
NAPPING=$(readlink -f "${SMC_R_BUILD:-build}")/inject/lib/libsmc_r.so

setup() {
	[ "$(id -u)" = 0 ] || skip "the TCP option needs root"
	[ -e "$NAPPING" ] || skip "make FLAVOUR=inject library"
	place=$(mktemp -d /tmp/smc_r.games.XXXXXX)
	chmod 755 "$place"
	export ODMDIR=$place/odm SMC_R_RUNDIR=$place/run SMC_R_HANDSHAKE=4000
	mkdir -p "$ODMDIR"
	unset SMC_R LD_PRELOAD
	mkdev -q -c tcpip -t smc_r -a enabled=1 -a port_range_list=1-65535 \
		-a ip_addr_list=127.0.0.1
	service=
}

teardown() {
	[ -n "${place-}" ] || return 0
	[ -z "$service" ] || kill "$service" 2>/dev/null || true
	rmdev -q -dl smc_r0 || true
	rm -rf "$place"
}

# The mode: empty, or "tcp" where each connection falls back.
serve() { # mode
	local i
	SMC_RC_LOOPBACK=$1 "$PROGRAMS/rc/loopback" -f >"$place/service.log" 2>&1 &
	service=$!
	for ((i = 0; i < 100; i++)); do
		[ -z "$(echo "$SMC_R_RUNDIR"/rc.[0-9]*)" ] ||
			[ ! -S "$(echo "$SMC_R_RUNDIR"/rc.[0-9]*)" ] || return 0
		sleep 0.05
	done
	return 1
}

far() { # command...
	SMC_R_FAR=1 LD_PRELOAD=$NAPPING timeout 60 "$@"
}

counter() { # line of entstat
	entstat -d smc_r0 | sed -n "s/^$1: *//p"
}

play() { # game
	"$PROGRAMS/preload/wakeups" "$1" 4 50 1
	serve ''
	far "$PROGRAMS/preload/wakeups" "$1" 1 100 1
	far "$PROGRAMS/preload/wakeups" "$1" 4 100 2
	[ "$(counter "SMC-R Connections")" -ge 2 ]
	[ "$(counter "Connections Moved Back to TCP")" = 0 ]
}

@test "threads share a connection, and none misses a wake-up: bytes" {
	play tokens
}

@test "... and room" {
	play room
}

@test "... and both ways" {
	play duplex
}

@test "children go on with connections that they inherit" {
	serve ''
	far "$PROGRAMS/preload/forks" fork
	[ "$(counter "SMC-R Connections")" -ge 30 ]
}

# What rang an element's bell at the end of its last use says nothing of the
# next one.
@test "short connections come to elements that others have left" {
	serve ''
	chdev -q -l smc_r0 -a autosmc=no
	far python3 "$BATS_TEST_DIRNAME/short.py" 500
	[ "$(counter "SMC-R Connections")" = 1000 ]
}

# The server takes the first connection a second late, so that its handshake
# takes as long; a signal for readiness makes it a relay.
@test "a relay that waits for a handshake holds nobody up" {
	serve ''
	chdev -q -l smc_r0 -a autosmc=no
	far python3 -c '
import fcntl, os, socket, threading, time
late = socket.create_server(("127.0.0.1", 5402))
soon = socket.create_server(("127.0.0.1", 5403))
if not os.fork():
	threading.Timer(1, lambda: late.accept()[0].sendall(b"late")).start()
	for i in range(2): soon.accept()[0].sendall(b"soon")
	time.sleep(3)
	os._exit(0)
c = socket.create_connection(("127.0.0.1", 5402))
relay = threading.Thread(target=fcntl.fcntl,
			 args=(c, fcntl.F_SETFL, os.O_ASYNC))
relay.start()
time.sleep(0.2)
begun = time.monotonic()
for i in range(2):
	with socket.create_connection(("127.0.0.1", 5403)) as s: s.recv(4)
took = time.monotonic() - begun
print(took, relay.is_alive())
assert took < 0.5 and relay.is_alive()
assert c.recv(4) == b"late"
relay.join()'
	[ "$(counter "SMC-R Connections")" -ge 4 ]
}

@test "the service declines: no byte is lost" {
	serve tcp
	far "$PROGRAMS/preload/wakeups" tokens 1 100 1
	far "$PROGRAMS/preload/wakeups" duplex 4 100 1
	[ "$(counter "Connections Moved Back to TCP")" -ge 2 ]
	entstat -d smc_r0 | grep -q NOSMCRDEV
}

@test "oracle: what ordinary programs do is as on TCP" {
	serve ''
	SMC_RUN="env LD_PRELOAD=$NAPPING SMC_R_FAR=1" timeout 150 \
		tests/oracle/oracle.sh -j 4 -m both accept_kinds \
		connect_nonblocking recv_kinds epoll_edge \
		epoll_level poll_kinds shutdown_write half_epoll dup_kinds \
		exec_cat pass_fd stdio
}
