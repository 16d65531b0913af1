#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# demote: connections that go back to TCP in mid-stream, at random moments,
# while both ends stream checked bytes both ways. No byte is lost or doubled.
# limit: 600

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${smc_new-}" "${demoted_new-}"

setup() {
	smc_begin
	demote=$programs/preload/demote
	seeds=40
	[ -z "${SMC_R_LONG-}" ] || seeds=2000
}

@test "the streams are right on plain TCP" {
	local seed
	for ((seed = 1; seed <= 10; seed++)); do
		"$demote" $seed
	done
	none_on_smc -
}

@test "random demotions at random places" {
	local seed first=1 failed=0
	# Others each time, in long runs.
	[ -z "${SMC_R_LONG-}" ] || first=$((RANDOM * 2000))
	# The first ones: a server that writes while its Accept is taken back; a
	# descriptor, or a child, that leaves when the peer has, with bytes unread.
	for seed in 24550336 24550336 24550459 24550459 \
		24551156 24551156 24551101 24551130 24551130 \
		$(seq $first $((first + seeds - 1))); do
		smc_run "$demote" "$seed" >"$place/demote.log" 2>&1 || {
			echo "seed $seed:"
			cat "$place/demote.log"
			failed=$((failed + 1))
			[ $failed -lt 5 ] || break
		}
	done
	smc_count
	echo "smc $smc_new demoted $demoted_new"
	[ $failed = 0 ]
	[ "$smc_new" -ge "$seeds" ]
	[ "$demoted_new" -ge $((seeds / 4)) ]
}
