#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sim: the link service on a simulated wire; README.
# limit: 300
# lane: any

bats_require_minimum_version 1.5.0

SIM=build/obj/plain/tests/sim/sim

# A failing seed is shown with its trace.
seeds() { # first, last
	run -0 "$SIM" "$1" "$2"
	echo "$output"
	[[ $output == *" seeds: "* ]]
}

@test "the oracle is content with 300 seeds" {
	seeds 1 300
}

@test "... and with 20,000 in check-long" {
	[ -n "${SMC_R_LONG-}" ] || skip "only in check-long"
	seeds 301 20300
}

@test "a seed says the same each time" {
	[ "$("$SIM" -v 24)" = "$("$SIM" -v 24)" ]
}

# Each of them, once.
calls_fail() { # seed, calls at most
	local n status

	for ((n = 1; n <= $2; n++)); do
		status=0
		output=$("$SIM" -n "$n" "$1") || status=$?
		[ "$status" -ne 3 ] || return 0
		[ "$status" -eq 0 ] || {
			echo "$output"
			return 1
		}
	done
}

@test "each call of verbs, and each allocation, fails" {
	calls_fail 32 150
	calls_fail 26 150
}

@test "... and those of more seeds in check-long" {
	[ -n "${SMC_R_LONG-}" ] || skip "only in check-long"
	for seed in {1..20}; do
		calls_fail "$seed" 1000
	done
}

@test "each mutation is found" {
	[ -n "${SMC_R_LONG-}" ] || skip "only in check-long"
	run -0 make --no-print-directory sim-mutations
	echo "$output"
}
