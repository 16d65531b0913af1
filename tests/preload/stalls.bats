#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 600
# stalls: more bytes than a ring holds, before anybody reads. TCP takes some
# megabytes; so must a connection that began on SMC.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${smc_new-}" "${tcp_new-}" "${errors_new-}"

setup() {
	smc_begin
	stalls=$programs/preload/stalls
	both=2097152 # so much both rings take
	unset SMC_R_STALL
}

stalled() {
	smc_reason DEMOTED_STALLED
}

# Plain TCP shows that the program itself is right.
all_ways() { # game
	local how before
	for how in block timeout sendfile poll select level edge again; do
		echo "$1 $how"
		"$stalls" "$1" $how
		before=$(stalled)
		smc_run "$stalls" "$1" $how
		[ "$(stalled)" -gt "$before" ]
	done
	smc_count
	[ "$smc_new" = 16 ]
	[ "$tcp_new" = 0 ]
	[ "$errors_new" = 0 ]
}

memory_in_use() {
	entstat -d smc_r0 | awk '/^RMB Memory in Use/ { print $NF }'
}

# Writes pieces of so many bytes until it is refused, twice. Nothing more is
# taken until the peer reads. With the connection the memory goes, but for one
# element.
writes() { # bytes, taken at first, and when 100000 were read
	local first second left written word pid
	coproc smc_run "$stalls" late "$1"
	pid=$COPROC_PID # which bash forgets with the process
	read -r first second left <&"${COPROC[0]}"
	echo "$first, then $second, $left unread"
	[ "$first" = "$2" ]
	[ "$second" = "$3" ]
	[ "$left" = "$both" ]
	written=$(memory_in_use)
	echo >&"${COPROC[1]}"
	read -r word <&"${COPROC[0]}"
	[ "$word" = closed ]
	[ "$(memory_in_use)" = $((written - both)) ]
	echo >&"${COPROC[1]}"
	wait "$pid"
}

@test "a late reader: a second ring, and its memory is given back" {
	writes 65536 262144 $((both - 262144 + 100000))
}

@test "a message that no ring holds is taken at once" {
	writes 2400000 "$both" 100000
}

@test "both ends write before they read" {
	all_ways both
}

@test "one thread has both ends" {
	all_ways alone
}

# Nobody will ever read, and no limit, however long, is waited for.
@test "one thread has both ends, and there is no other" {
	need python3
	local how before
	before=$(stalled)
	export SMC_R_STALL=600000
	for how in block poll select epoll; do
		echo "$how"
		timeout 30 smc_run python3 \
			"$BATS_TEST_DIRNAME/alone.py" $how
	done
	[ "$(stalled)" = $((before + 4)) ]
}

@test "the peer reads when all was written" {
	all_ways told
}

# With the limit as it is, with one that is never reached, and with none.
@test "signals while a call waits for room" {
	[ "$("$stalls" signals)" = "ended after SIGUSR2" ]
	[ "$("$stalls" beside)" = "ended after SIGUSR1" ]
	for SMC_R_STALL in '' 600000 0; do
		export SMC_R_STALL
		[ "$(smc_run "$stalls" signals)" = "ended after SIGUSR2" ]
		[ "$(smc_run "$stalls" beside)" = "ended after SIGUSR1" ]
	done
}

# A limit that can be switched off: then only TCP gets along with it.
@test "SMC_R_STALL=0: for ever" {
	local before
	before=$(stalled)
	SMC_R_STALL=0 run timeout 2 smc_run "$stalls" both block
	[ "$status" = 124 ]
	[ "$(stalled)" = "$before" ]
}

# Each needs rings of its own direction; a lost one would be waited for in vain.
in_pairs() { # game, command...
	local game=$1 how reader
	shift
	for reader in recv poll select level edge; do
		for how in block poll select level edge; do
			echo "$game $how $reader: $*"
			"$@" "$stalls" "$game" $how $reader
		done
	done
}

@test "a thread that waits for room beside one that waits for bytes" {
	local before
	before=$(stalled)
	in_pairs duplex env
	export SMC_R_STALL=0
	in_pairs duplex smc_run
	# One bell for both.
	in_pairs duplex prlimit --nofile=60:60 smc_run
	smc_count
	[ "$smc_new" = 100 ]
	[ "$tcp_new" = 0 ]
	[ "$(stalled)" = "$before" ]
}

@test "a process that waits for room beside one that waits for bytes" {
	local before
	before=$(stalled)
	in_pairs parted env
	export SMC_R_STALL=0
	in_pairs parted smc_run
	# One bell for both.
	in_pairs parted prlimit --nofile=60:60 smc_run
	smc_count
	[ "$smc_new" -ge 100 ]
	[ "$tcp_new" = 0 ]
	[ "$(stalled)" = "$before" ]
}
