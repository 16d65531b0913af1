#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# forks: connections that a new process inherits, whichever way it was made,
# whatever their state, and whatever it does with them.
# limit: 400

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${smc_new-}" "${demoted_new-}"

setup() {
	smc_begin
	forks=$programs/preload/forks
	rounds=1
	[ -z "${SMC_R_LONG-}" ] || rounds=20
}

# All states and actions of one way to make a process. The kernel's own TCP
# shows that the expectations are right.
all_cases() { # how
	local i cases=0
	unset SMC_R_HANDSHAKE # late peers are part of the game
	"$forks" "$1"
	for ((i = 0; i < rounds; i++)); do
		smc_run "$forks" "$1" >"$place/cases.log"
		cases=$((cases + $(sed -n 's/ cases, 0 failed$//p' \
			"$place/cases.log")))
	done
	smc_count
	echo "smc $smc_new demoted $demoted_new"
	# Each has two ends; a process that forks at once, or is late, may stay
	# on TCP.
	[ "$cases" -ge $((18 * rounds)) ]
	[ "$smc_new" -ge "$cases" ]
}

@test "fork" {
	all_cases fork
	[ "$demoted_new" = 0 ]
}

@test "an orphan goes on where its grandparent closes" {
	"$forks" orphans 40
	smc_run "$forks" orphans 40
	all_on_smc 40
}

@test "children that close their copies wake no peer" {
	"$forks" copies 50 10
	smc_run "$forks" copies 50 10
	all_on_smc 50
}

rmbs_made() {
	entstat -d smc_r0 | sed -n 's/^RMBs Allocated: *//p'
}

# Half of a connection is with a child, and the parent makes no memory for the
# next one but what those need that come before it has ended.
forking() { # way, count
	local before
	timeout 60 python3 "$BATS_TEST_DIRNAME/forking.py" "$1" 20411 5
	before=$(rmbs_made)
	timeout 60 smc_run python3 "$BATS_TEST_DIRNAME/forking.py" "$1" 20411 "$2"
	rmbs_new=$(($(rmbs_made) - before))
	smc_count
	echo "$1: $rmbs_new RMBs, smc $smc_new"
	[ "$smc_new" = $((2 * $2)) ]
}

@test "a server that forks for each connection uses memory again" {
	forking close 60
	[ "$rmbs_new" -le 20 ]
}

@test "and that of children which end without a close" {
	forking exit 60
	[ "$rmbs_new" -le 20 ]
}

@test "and that of children which are killed" {
	forking kill 60
	[ "$rmbs_new" -le 20 ]
}

@test "and never that of a child which outlives its client" {
	forking linger 40
}

# It asks about the other processes that hold a connection by one call: 500
# closes.
@test "and do not look for their parent in /proc each time" {
	need strace
	smc_run strace -f -o "$place/calls" -e trace=openat "$forks" copies 50 10
	[ "$(grep -c '[0-9]/stat"' "$place/calls")" -lt 200 ]
}

# They could not be told apart by an entry each: there are 63.
@test "programs that were executed and inherit nothing hold nothing" {
	"$forks" helpers 80
	smc_run "$forks" helpers 80
	all_on_smc 2
}

@test "_Fork, which runs no handlers" {
	all_cases _Fork
	[ "$demoted_new" = 0 ]
}

@test "clone, by number" {
	all_cases clone
	[ "$demoted_new" = 0 ]
}

@test "clone(), with a stack of its own" {
	all_cases "clone()"
	[ "$demoted_new" = 0 ]
}

@test "clone() of a process that shares the descriptors" {
	all_cases clone-files
	[ "$demoted_new" -gt 0 ]
}

@test "clone() of a program that runs the handlers of fork itself" {
	all_cases clone-handled
	[ "$demoted_new" = 0 ]
}

@test "a daemon: forked twice, its parent is gone" {
	all_cases daemon
	[ "$demoted_new" = 0 ]
}

@test "fork and exec" {
	all_cases fork+exec
	[ "$demoted_new" -gt 0 ]
}

@test "vfork and exec" {
	all_cases vfork+exec
	[ "$demoted_new" -gt 0 ]
}

@test "posix_spawn" {
	all_cases posix_spawn
	[ "$demoted_new" -gt 0 ]
}

# What each process sees, by the kernel and under us, in any order.
epoll_case() { # case
	local script=$BATS_TEST_DIRNAME/epoll_fork.py

	python3 "$script" "$1" | sort >"$BATS_TEST_TMPDIR/tcp"
	smc_run python3 "$script" "$1" | sort >"$BATS_TEST_TMPDIR/smc"
	diff "$BATS_TEST_TMPDIR/tcp" "$BATS_TEST_TMPDIR/smc"
	smc_count
	echo "$1: smc $smc_new demoted $demoted_new"
	[ -s "$BATS_TEST_TMPDIR/tcp" ]
}

@test "an epoll instance that two processes use" {
	local i

	# One of ten was not told, when the child came first.
	for i in both_change asleep plain_asleep{,,,} in_turn nested unread; do
		epoll_case "$i"
		[ "$demoted_new" -gt 0 ]
	done
	epoll_case listener
}

@test "an epoll instance that goes to a daemon, or to one of two" {
	local i

	for i in daemon worker before_connect; do
		epoll_case "$i"
		[ "$smc_new" -gt 0 ] && [ "$demoted_new" = 0 ]
	done
}

@test "an epoll instance in which a thread was cancelled" {
	"$programs/preload/cancelled"
	smc_run "$programs/preload/cancelled"
	smc_count
	echo "smc $smc_new demoted $demoted_new"
	[ "$smc_new" = 2 ] && [ "$demoted_new" = 0 ]
}

@test "an epoll instance that a thread left by longjmp" {
	"$programs/preload/cancelled" jump
	smc_run "$programs/preload/cancelled" jump
	smc_count
	echo "smc $smc_new demoted $demoted_new"
	[ "$smc_new" = 2 ] && [ "$demoted_new" = 0 ]
}

@test "records that several processes or threads write stay whole" {
	local i out

	for i in processes threads; do
		out=$(smc_run python3 "$BATS_TEST_DIRNAME/records.py" $i)
		echo "$i: $out"
		[ "$out" = "[4000, 4000, 4000, 4000] 0" ]
	done
	smc_count
	[ "$smc_new" = 4 ] && [ "$demoted_new" = 0 ]
}
