#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 600
# heirs: a listener that is marked promises its clients an engine, whatever
# accepts in the end: a program that is executed, spawned, or given it.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${port-}" "${smc_new-}" "${tcp_new-}"
# shellcheck disable=SC2154
: "${last-}" "${errors_new-}"

setup_file() {
	smc_device
	command -v cc >/dev/null || return 0
	cc -std=gnu17 -I"$SMC_R_TOP" -static -o "$SMC_PLACE/static" \
		"$BATS_TEST_DIRNAME/heir.c"
}

setup() {
	smc_begin
	free_port
	heir=$programs/preload/heir
	library=${SMC_R_BUILD:-build}/lib/libsmc_r.so
}

# Connections that were answered as on TCP, none of them in pieces.
asked() { # number
	local i
	for ((i = 0; i < $1; i++)); do
		[ "$(timeout 60 smc_run "$heir" ask "$port" "line $i")" = \
			"got line $i" ]
	done
	smc_count
	echo "smc $smc_new tcp $tcp_new errors $errors_new"
	smc_reasons
	[ "$errors_new" = 0 ]
}

@test "one that is executed with a bare environment: all on SMC, the first too" {
	start server smc_run "$heir" exec "$port" 1 "$heir" serve
	await_port "$port"
	asked 3
	[ "$smc_new" = 6 ]
}

@test "one that is spawned with a bare environment: all on SMC" {
	start server smc_run "$heir" spawn "$port" 1 "$heir" serve
	await_port "$port"
	asked 3
	[ "$smc_new" = 6 ]
}

@test "one that is executed by a script" {
	printf '#!/bin/sh\nexec "%s" serve\n' "$heir" >"$place/script"
	chmod +x "$place/script"
	start server smc_run "$heir" exec "$port" 1 "$place/script"
	await_port "$port"
	asked 3
	[ "$smc_new" = 6 ]
}

# It comes a little after the port, which is the one thing that can be seen.
served_by() { # name
	tr '\0' ' ' <"/proc/$last/cmdline" | grep -q "^$1 serve"
}

@test "a static one: TCP, and nothing but the program's bytes" {
	[ -x "$SMC_PLACE/static" ] || skip "there is no compiler"
	start server smc_run "$heir" exec "$port" 0 "$SMC_PLACE/static" serve
	await_port "$port"
	await_true served_by "$SMC_PLACE/static"
	asked 3
	[ "$smc_new" = 0 ]
	[ "$tcp_new" = 3 ]
}

@test "one with SMC_R=0: TCP" {
	start server smc_run "$heir" exec "$port" 0 /usr/bin/env SMC_R=0 \
		"$heir" serve
	await_port "$port"
	await_true served_by "$heir"
	asked 3
	[ "$smc_new" = 0 ]
}

@test "one on the list of excluded programs: TCP, the first too" {
	chdev -q -l smc_r0 -a exclude_list=excluded
	cp "$heir" "$place/excluded"
	start server smc_run "$heir" exec "$port" 1 "$place/excluded" serve
	await_port "$port"
	asked 3
	chdev -q -l smc_r0 -a exclude_list=sshd
	[ "$smc_new" = 0 ]
	[ "$tcp_new" -ge 3 ]
}

# The library came from a file that does not name it any more, as when
# system_preload was set to 0 meanwhile; the loader's option is such a way, too.
@test "one whose maker has the engine not by its environment: all on SMC" {
	need ld.so /usr/bin/python3
	start server ld.so --preload "$library" /usr/bin/python3 -c '
import os, socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
os.dup2(s.fileno(), 3)
os.execve(sys.argv[2], [sys.argv[2], "serve"],
	  {"SMC_R_RUNDIR": os.environ["SMC_R_RUNDIR"]})' "$port" "$heir"
	await_port "$port"
	await_true served_by "$heir"
	asked 3
	[ "$smc_new" = 6 ]
}

# A root directory with what a program needs to start.
make_root() { # directory, program
	local file
	mkdir -p "$1/dev"
	cp "$2" "$1/program"
	ldd "$2" | grep -o '/[^ ]*' | while read -r file; do
		mkdir -p "$1${file%/*}"
		cp "$file" "$1$file"
	done
}

@test "one below a root directory where the library is not: TCP" {
	[ "$(id -u)" = 0 ] || skip "only root changes the root directory"
	make_root "$place/root" "$heir"
	start server smc_run "$heir" exec "$port" 0 /usr/sbin/chroot \
		"$place/root" /program serve
	await_port "$port"
	await_true served_by /program
	asked 3
	[ "$smc_new" = 0 ]
	[ "$tcp_new" = 3 ]
}

@test "one of another C library: TCP" {
	need musl-gcc
	musl-gcc -std=gnu17 -D_GNU_SOURCE -I"$SMC_R_TOP" \
		-idirafter /usr/include -idirafter \
		"/usr/include/$(uname -m)-linux-gnu" -o "$place/other" \
		"$BATS_TEST_DIRNAME/heir.c"
	start server smc_run "$heir" exec "$port" 0 "$place/other" serve
	await_port "$port"
	await_true served_by "$place/other"
	asked 3
	[ "$smc_new" = 0 ]
	[ "$tcp_new" = 3 ]
}

@test "one that gains a capability: TCP" {
	[ "$(id -u)" = 0 ] || skip "only root gives one"
	need setcap
	cp "$heir" "$place/capable"
	setcap cap_net_bind_service=ep "$place/capable"
	start server setpriv --reuid 65534 --clear-groups smc_run "$heir" \
		exec "$port" 0 "$place/capable" serve
	await_port "$port"
	await_true served_by "$place/capable"
	asked 3
	[ "$smc_new" = 0 ]
	[ "$tcp_new" = 3 ]
}

@test "one that is given it, without the engine: TCP" {
	start taker "$heir" take "$place/socket"
	start server smc_run "$heir" pass "$port" 0 "$place/socket"
	wait "$last"
	asked 3
	[ "$smc_new" = 0 ]
}

@test "one that is given it, with the engine: SMC" {
	start taker smc_run "$heir" take "$place/socket"
	start server smc_run "$heir" pass "$port" 0 "$place/socket"
	wait "$last"
	asked 3
	[ "$smc_new" -ge 4 ]
}

@test "one that sets up io_uring: TCP, the first too" {
	start server smc_run "$heir" ring "$port" 1
	await_port "$port"
	asked 1
	asked 2
	if [ "$smc_new" = 6 ] && grep -q 'no io_uring' "$place/server.log"; then
		skip "the kernel has no io_uring"
	fi
	[ "$smc_new" = 0 ]
}

# The program enters the kernel by its own instructions: none of its calls but
# listen() is seen.
@test "one that is linked with a static liburing: TCP, the first too" {
	[ "$(uname -m)" = x86_64 ] || skip "no such instructions are known"
	start server smc_run "$programs/preload/raw_ring" "$port" 3
	await_port "$port"
	asked 3
	[ "$smc_new" = 0 ]
}

# All but its waiting is seen.
@test "one that waits by an instruction of its own: TCP, the first too" {
	[ "$(uname -m)" = x86_64 ] || skip "no such instructions are known"
	start server smc_run "$programs/preload/raw_wait" "$port" 3
	await_port "$port"
	asked 3
	[ "$smc_new" = 0 ]
}

@test "the same with TCP_DEFER_ACCEPT, which is set when it listens" {
	[ "$(uname -m)" = x86_64 ] || skip "no such instructions are known"
	start server smc_run "$programs/preload/raw_wait" "$port" 3 deferred
	await_port "$port"
	asked 3
	[ "$smc_new" = 0 ]
}

@test "a stdio stream whose client is late with its part of the handshake" {
	# A client that is later than this.
	export SMC_R_HANDSHAKE=100
	start server smc_run "$heir" stdio "$port"
	await_port "$port"
	[ "$(timeout 60 smc_run "$heir" late "$port")" = hello ]
	await_true gone "$last"
	[ -z "$(cat "$place/server.log")" ]
}

@test "a stdio stream that was there before the connection" {
	start server smc_run "$heir" exec "$port" 0 "$heir" serve
	await_port "$port"
	[ "$(timeout 60 smc_run "$heir" early "$port" hello)" = "got hello" ]
	smc_count
	[ "$smc_new" = 0 ]
}

# Its bytes are in the queue of TCP, and more than its window takes.
@test "a client that sent all and closed before anybody accepted" {
	export SMC_R_HANDSHAKE=20
	for excluded in sshd heir; do
		chdev -q -l smc_r0 -a "exclude_list=$excluded"
		free_port
		start server smc_run "$heir" slow "$port"
		await_port "$port"
		chdev -q -l smc_r0 -a exclude_list=sshd
		[ "$(smc_run "$heir" gift "$port" 300000)" = closed ]
		await_true gone "$last"
		[ "$(cat "$place/server.log")" = 300000 ]
	done
}

@test "a client waits for an acceptor as long as SMC_R_HANDSHAKE says" {
	export SMC_R_HANDSHAKE=60000
	start server smc_run "$heir" slow "$port"
	await_port "$port"
	[ "$(smc_run "$heir" gift "$port" 300000)" = closed ]
	await_true gone "$last"
	[ "$(cat "$place/server.log")" = 300000 ]
	all_on_smc 1 300000
}

@test "and sleeps meanwhile, whole seconds too" {
	need strace
	export SMC_R_HANDSHAKE=60000
	start server smc_run "$heir" slow "$port"
	await_port "$port"
	smc_run strace -o "$place/calls" -e trace=ppoll \
		"$heir" gift "$port" 300000
	await_true gone "$last"
	grep -q ppoll "$place/calls"
	run grep EINVAL "$place/calls"
	[ "$status" = 1 ]
}

# What libc does inside itself goes past the names that are ours.
@test "shells, asynchronous I/O and others that libc has inside" {
	local game inside=$programs/preload/inside
	for game in words calls cut; do
		"$inside" $game >"$place/plain"
		smc_run "$inside" $game >"$place/smc"
		diff "$place/plain" "$place/smc"
	done
	smc_count
	[ "$smc_new" = 16 ]
	[ "$errors_new" = 0 ]
}

# It waits until no message can come any more. The server answers its Decline,
# if that has just come, which ends the wait: seen by the reason at the server.
@test "a client that gives its connection away before the server accepts" {
	local early=$BATS_TEST_DIRNAME/early.py
	local i
	python3 "$early" >"$place/plain"
	for ((i = 0; i < 30; i++)); do
		smc_run python3 "$early" >"$place/smc"
		diff "$place/plain" "$place/smc"
		# Without BPF it proposes to a server that has accepted only.
		if [ "$(id -u)" != 0 ] || smc_reasons | grep -q "^PEERDECL "; then
			return
		fi
	done
	false
}

# Its server's word is in the queue, unread, when the server has gone already.
@test "a client that makes no call while its connection is given away" {
	local late=$BATS_TEST_DIRNAME/late.py
	python3 "$late" >"$place/plain"
	smc_run python3 "$late" >"$place/smc"
	diff "$place/plain" "$place/smc"
	[ "$(wc -l <"$place/plain")" = 8 ]
}

@test "a program that starts one of another C library, which keeps what else is preloaded" {
	need musl-gcc
	local way start='import os, sys; os.execvp(sys.argv[1], sys.argv[1:])'
	cat >"$place/main.c" <<-'EOT'
		#include <stdio.h>
		#include <stdlib.h>
		int main(void)
		{
			const char *list = getenv("LD_PRELOAD");
			puts(list ? list : "nothing");
		}
	EOT
	musl-gcc -o "$place/other" "$place/main.c"
	printf '#!%s\n' "$place/other" >"$place/script"
	chmod +x "$place/script"
	for way in other script; do
		run smc_run sh -c "$place/$way; exit \$?"
		[ "$status" -eq 0 ]
		[ "$output" = nothing ]
	done
	run smc_run sh -c "SMC_R=0 exec $place/other"
	[ "$output" = nothing ]
	run smc_run sh -c "LD_PRELOAD=a.so:\$LD_PRELOAD:b.so
		export LD_PRELOAD; exec $place/other" 2>/dev/null
	[[ $output == *a.so:b.so ]]
	run smc_run python3 -c "$start" "$place/other"
	[ "$output" = nothing ]
}

@test "behind chroot, where there is no library, nothing is said of it" {
	[ "$(id -u)" = 0 ] || skip "only root may change its root"
	make_root "$place/root" /bin/echo
	run smc_run chroot "$place/root" /program here
	[ "$status" -eq 0 ]
	[ "$output" = here ]
}
