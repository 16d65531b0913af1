#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# first: what the first connection of a process costs. Time is for make bench
# (section first); here calls and memory are counted.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}" "${smc_new-}"

setup() {
	smc_begin
	burst=$programs/preload/burst
	free_port
	start server smc_run "$burst" server epoll "$port"
	server=$last
	await_port "$port"
}

# System calls of a process with one connection, but for those with which it
# waits.
calls_of() { # name, library
	local name=$1
	shift
	"$@" strace -o "$place/$name" "$burst" held "$port" 1 >/dev/null
	grep -Evc '^(sched_yield|poll|ppoll|futex|restart_syscall)\(' \
		"$place/$name"
}

# The peers of this user that run make none of them dearer but by a few: the
# server is one.
@test "a client's first connection takes fewer than 170 calls of ours" {
	need strace
	local plain ours
	plain=$(calls_of plain env SMC_R=0)
	ours=$(calls_of ours smc_run)
	echo "$plain on TCP, $ours on SMC-R"
	[ "$((ours - plain))" -lt 170 ]
	smc_count
	[ "$smc_new" = 2 ]
}

@test "a server's takes fewer than 100" {
	need strace
	smc_run "$burst" held "$port" 1
	start trace strace -o "$place/calls" -p "$server"
	local tracer=$last ours
	await_true grep -q attached "$place/trace.log"
	smc_run "$burst" held "$port" 1
	sleep 0.1
	stop "$tracer"
	ours=$(grep -Evc '^(sched_yield|poll|ppoll|epoll_p?wait|futex)\(' \
		"$place/calls")
	echo "$ours calls"
	[ "$ours" -lt 100 ]
}

# A page for the header, and one for the control block and short messages.
@test "and its memory is two pages until somebody writes more" {
	local rmb blocks
	[ "$(id -u)" = 0 ] || skip "needs /proc/PID/map_files"
	start client smc_run "$burst" held "$port" 10000000
	await_true grep -q memfd:smc_r "/proc/$server/maps"
	rmb=$(sed -n 's/ .*memfd:smc_r.*//p' "/proc/$server/maps" | head -1)
	blocks=$(stat -L -c %b "/proc/$server/map_files/$rmb")
	stop "$last"
	echo "$blocks blocks of 512 bytes"
	[ "$blocks" = 16 ]
}
