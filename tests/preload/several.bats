#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# several: two that wait for the bytes of one connection, each in its own way.
# What one of them leaves the other must be told of, however it waits.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${smc_new-}" "${tcp_new-}" "${demoted_new-}"

setup() {
	smc_begin
	several=$programs/preload/several
}

ways='recv timeout poll select level edge'

in_pairs() { # processes or threads, command...
	local kind=$1 one other
	shift
	for one in $ways; do
		for other in $ways; do
			echo "$kind $one $other: $*"
			"$@" "$several" "$kind" "$one" "$other" 10
		done
	done
}

# Plain TCP shows that the program itself is right.
all_ways() { # processes or threads
	in_pairs "$1" env
	in_pairs "$1" smc_run
	# One bell for bytes and room.
	in_pairs "$1" prlimit --nofile=60:60 smc_run
	smc_count
	echo "smc $smc_new tcp $tcp_new demoted $demoted_new"
	[ "$smc_new" = 144 ]
	[ "$tcp_new" = 0 ]
	[ "$demoted_new" = 0 ]
}

@test "two processes" {
	all_ways processes
}

@test "two threads" {
	all_ways threads
}
