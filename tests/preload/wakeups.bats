#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# wakeups: many threads sleep on few connections, in every way there is to
# sleep, and share what they sleep in. A wake-up that is lost stops the game, and its watchdog says so.
# limit: 900

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${smc_new-}"

setup() {
	smc_begin
	wakeups=$programs/preload/wakeups
	# A library that naps where a wake-up could be lost.
	napping=${SMC_R_BUILD:-build}/inject/lib/libsmc_r.so
	seeds=3 rounds=300
	[ -z "${SMC_R_LONG-}" ] || seeds=60
}

# With 1, 4 and 8 threads; plain TCP shows that the game itself is right.
play() { # game, connections that it uses with 1, 4 and 8 threads
	local game=$1 seed threads expected=0
	shift
	"$wakeups" "$game" 4 100 1
	for threads in 1 4 8; do
		for ((seed = 1; seed <= seeds; seed++)); do
			smc_run "$wakeups" "$game" "$threads" "$rounds" $seed
			[ ! -e "$napping" ] || LD_PRELOAD=$napping \
				"$wakeups" "$game" "$threads" "$rounds" $seed
		done
		expected=$((expected + seeds * $1))
		shift
	done
	smc_count
	echo "smc $smc_new of $((2 * expected))"
	# A late acceptor may leave one or the other on TCP.
	[ "$smc_new" -ge "$expected" ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

@test "a token on each connection" {
	play tokens 1 4 8
}

@test "all threads and tokens on one connection" {
	play shared 1 1 1
}

@test "writers that wait for room" {
	play room 1 4 8
}

@test "writers into buffers whose sizes change" {
	play narrow 1 4 8
}

@test "fresh connections, read and written by two threads each" {
	play duplex 1 4 8
}

@test "streams that stop and go on" {
	play bursts 1 4 8
}

@test "one token among idle connections" {
	play idle 1 4 8
}

@test "tokens that like a few of a hundred connections" {
	play crowd 100 100 100
}

# Threads that share one epoll instance; "pool" says what each game does.
share() {
	wakeups=$programs/preload/pool
	play "$@"
}

@test "a pool of threads that must all wake up" {
	share barrier 1 4 8
}

@test "a pool whose threads also look without waiting" {
	share looks 1 4 8
}

@test "a pool that sleeps when its connections come" {
	share late "$rounds" "$rounds" "$rounds"
}

@test "a pool with one leader that waits" {
	share leader 1 4 8
}

# As plain TCP, under smc_run and with naps; "$1" of the rounds are enough where
# the game itself is to be seen right.
play_once() { # rounds on TCP, rounds, program and what comes before the rounds...
	local few=$1 many=$2
	shift 2
	"$@" "$few" 1
	smc_run "$@" "$many" 1
	[ ! -e "$napping" ] || LD_PRELOAD=$napping "$@" "$many" 1
}

# In a small instance, and in one that tells readiness by bits. What a member
# that reports nothing takes from another is lost while bells are emptied, every
# few milliseconds.
beside_silent() { # way, kinds of silence...
	local way=$1 kind
	shift
	[ -z "${SMC_R_LONG-}" ] || rounds=10000
	for kind in "$@"; do
		play_once 10 $((rounds / 6)) \
			"$programs/preload/silent" "$way" "$kind" 2
		play_once 10 $((rounds / 3)) \
			"$programs/preload/silent" "$way" "$kind" 100
	done
	smc_count
	echo "smc $smc_new"
	[ "$smc_new" -ge $(($# * 200)) ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

@test "beside a flooded member that reports nothing" {
	beside_silent wait none spent out
}

@test "poll on an instance with a flooded member that reports nothing" {
	beside_silent poll none spent out
}

@test "select on an instance with a flooded member that reports nothing" {
	beside_silent select none
}

@test "a reader beside a poll with two entries of its connection" {
	play_once 50 $((rounds / 6)) "$programs/preload/wakeups" twice 4
	smc_count
	[ "$smc_new" -ge 8 ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

@test "a thread that is cancelled where it was woken for others" {
	play_once 50 "$rounds" "$programs/preload/leavers" cancel 1
	play_once 50 "$rounds" "$programs/preload/leavers" cancel 3
	smc_count
	[ "$smc_new" -ge 20 ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

@test "a thread that jumps out of the call that was woken for others" {
	play_once 50 "$rounds" "$programs/preload/leavers" jump 1
	play_once 50 "$rounds" "$programs/preload/leavers" jump 3
	smc_count
	[ "$smc_new" -ge 20 ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

# It ends at any place in another thread's look: where the look is at home, and
# with naps in it, one round in hundred or two ends there.
@test "a handshake that ends in the look of another thread" {
	export SMC_R_HANDSHAKE=20 # the acceptor takes longer
	"$programs/preload/behind" 10
	smc_run "$programs/preload/behind" 60
	[ ! -e "$napping" ] ||
		LD_PRELOAD=$napping "$programs/preload/behind" $((seeds * 70))
	smc_count
	[ "$smc_new" -ge 60 ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

# Another thread closes it, anywhere between the wake-up and the end of the
# call.
@test "a descriptor that is closed under a call that was woken" {
	local parting=$programs/preload/parting
	"$parting" read 20
	smc_run "$parting" read 200
	smc_run "$parting" write 30
	all_on_smc 230
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
	LD_PRELOAD=$napping "$parting" read 600
}

@test "a reader is woken by a shutdown, with no descriptor left" {
	local parting=$programs/preload/parting
	"$parting" full 5
	smc_run "$parting" full 20
	all_on_smc 20
}
