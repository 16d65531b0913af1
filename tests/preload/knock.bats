#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# knock: connections that begin without CLC messages, and all that can come in
# between.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${smc_new-}" "${tcp_new-}" "${place-}"

setup() {
	smc_begin
	knock=$BATS_TEST_DIRNAME/knock.py
	knocks_before=$(knocks)
}

knocks() {
	entstat -j smc_r0 | sed -n 's/.*"knocks": *\([0-9]*\).*/\1/p' |
		head -n 1
}

# The BPF program carries them: without it there are none.
knocked=0

knocked_at_least() { # number
	if [ "$(id -u)" = 0 ]; then
		[ "$knocked" -ge "$1" ]
	else
		[ "$knocked" = 0 ]
	fi
}

# On plain TCP the program is right, too.
play() { # way, count, acceptors
	timeout 60 python3 "$knock" "$1" 20401 5 "${3:-1}"
	timeout 100 smc_run python3 "$knock" "$1" 20401 "${2:-40}" "${3:-1}"
	smc_count
	knocked=$(($(knocks) - knocks_before))
	echo "smc $smc_new tcp $tcp_new knocks $knocked"
}

@test "one connection after the other: no message but those of the first" {
	play plain 100
	[ "$smc_new" = 200 ]
	# A server that is not there within 2 ms gets a Proposal.
	knocked_at_least 40
}

@test "a server that speaks first" {
	play banner
	[ "$smc_new" = 80 ]
}

@test "several processes take turns to accept" {
	play plain 100 2
	[ "$smc_new" = 200 ]
	knocked_at_least 40
	play plain 200 5
	[ "$smc_new" = 600 ]
	knocked_at_least 100
}

@test "more of them than a client knocks at" {
	play plain 200 11
	[ "$smc_new" = 400 ]
}

@test "what they do not take of a client's is taken back" {
	for way in half fork banner nonblock threads many; do
		play "$way" 20 3
	done
	[ "$tcp_new" = 0 ]
	play silent 20 3
}

@test "several processes, and clients whose connect() does not wait" {
	for way in poll epoll edge; do
		before=$knocked
		play "begun-$way" 20 3
		[ "$tcp_new" = 0 ]
		knocked_at_least $((before + 20))
	done
	play begun-write 10 3
	play begun-close 10 3
	play begun-fork 10 3
}

@test "a server that comes late" {
	play late 20
	[ "$smc_new" = 40 ]
}

@test "clients that look before they write" {
	play poll
	play epoll
	play nonblock
	[ "$tcp_new" = 0 ]
}

@test "clients whose connect() does not wait knock as well" {
	for way in poll epoll edge; do
		play "begun-$way"
		[ "$tcp_new" = 0 ]
		# One that is not taken within 2 ms ends in a Proposal.
		knocked_at_least 10
	done
}

@test "those that nobody took are writable in the order in which they began" {
	play begun-order 200
}

@test "and write at once, or close, or fork" {
	play begun-write
	play begun-fork 10
	play begun-close 10
}

@test "RMBs that the server gave back leave the client, too" {
	play bursts 3
}

@test "several threads that connect at once" {
	play many
	[ "$tcp_new" = 0 ]
}

@test "one thread waits while another writes" {
	play threads
	[ "$tcp_new" = 0 ]
}

@test "a client that says nothing, or only its end" {
	play silent
	play half
	play plain 20
	knocked_at_least 5
}

@test "a client that forks before it writes" {
	play fork
}

@test "a client that hands the connection on before it writes" {
	play exec 20
}

@test "a client that is killed before it writes" {
	play killed 30
}
