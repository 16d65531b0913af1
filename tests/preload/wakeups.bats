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

# By another thread, anywhere between the wake-up and the end of the call.
@test "a descriptor that is closed under a call that was woken" {
	local parting=$programs/preload/parting
	"$parting" read 20
	smc_run "$parting" read 200
	smc_run "$parting" write 30
	all_on_smc 230
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
	LD_PRELOAD=$napping "$parting" read 600
}
