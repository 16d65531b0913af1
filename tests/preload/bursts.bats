#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# bursts: thousands of clients that offer SMC and say nothing, and what they
# cost somebody else. The same burst on plain TCP is the measure.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}" "${smc_new-}" "${tcp_new-}"

silent=500

setup() {
	smc_begin
	burst=$programs/preload/burst
}

# Nobody waits in the listener's queue.
all_accepted() {
	ss -Hltn "sport = :$port" | awk '{ n += $2 } END { exit n > 0 }'
}

# Begins a server that has so many silent clients: its pid is in $server.
besiege() { # kind (smc or tcp), way
	local library=(env SMC_R=0) marks=''
	if [ "$1" = smc ]; then
		library=(smc_run)
		marks=$SMC_R_RUNDIR
	fi
	free_port
	start "$1.server" "${library[@]}" "$burst" server "$2" "$port"
	server=$last
	await_port "$port"
	start "$1.silent" "$burst" silent "$port" "$silent" "$marks"
	await_true grep -q connected "$place/$1.silent.log"
	await_true all_accepted
}

# System calls of the server while a client has 50 answers, in $calls.
count_calls() { # kind
	local library=(env SMC_R=0) tracer
	[ "$1" = tcp ] || library=(smc_run)
	# Each of the silent ones is looked at once or twice before it is quiet.
	"${library[@]}" "$burst" held "$port" 5
	start "$1.trace" strace -f -c -o "$place/$1.calls" -p "$server"
	tracer=$last
	await_true grep -q attached "$place/$1.trace.log"
	"${library[@]}" "$burst" held "$port" 50
	stop "$tracer"
	calls=$(awk '$NF == "total" { print $4 + 0 }' "$place/$1.calls")
	echo "$1: $calls calls"
}

# Accepting the one connection is among them, and a server that spins asks the
# kernel some times for each answer. A look at each silent one would make it
# hundreds of thousands.
costs_little() { # way, so many times the calls on TCP
	local calls tcp
	need strace
	besiege tcp "$1"
	count_calls tcp
	tcp=$calls
	besiege smc "$1"
	sleep 0.2
	count_calls smc
	[ "$calls" -le $(($2 * tcp)) ]
	smc_count
	[ "$smc_new" = 4 ]
}

@test "silent clients cost no call at events of others, in epoll_wait" {
	costs_little epoll 8
}

@test "nor where the server asks for output, and for edges" {
	costs_little edge 8
}

@test "the kernel is asked about many at once, in poll" {
	costs_little poll 20
}

# Beyond a thousand of them nobody is offered SMC, for a second; those that are
# in the listener's queue by then are taken.
@test "there is a bound of silent clients, and one that nobody can use up" {
	silent=6000
	[ "$(id -u)" = 0 ] || skip "needs BPF"
	besiege smc epoll
	smc_run "$burst" echo "$port" 5
	smc_count
	[ "$smc_new" -lt 10 ]
	[ "$tcp_new" -ge 500 ]
	sleep 1.2
	smc_run "$burst" echo "$port" 5
	smc_new_before=$smc_new
	smc_count
	[ "$smc_new" = $((smc_new_before + 10)) ]
}
