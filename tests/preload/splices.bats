#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# splices: proxies that move bytes by splice(2), in ways that seeds say.
# limit: 400
# long: 1200

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}"
games=${SMC_R_LONG:+1000}
games=${games:-60}

@test "every way to go through a pipe: on plain TCP" {
	"$programs/preload/splices" 1 10
}

@test "every way to go through a pipe: between two connections on SMC" {
	# However slow an end is, here it is no stall.
	SMC_R_STALL=0 smc_run "$programs/preload/splices" 1 "$games"
	all_on_smc $((2 * games))
}

# As it would be for 0.2 seconds; and then the connection would be TCP's.
@test "a pipe with nothing in it: no client is waited for" {
	"$programs/preload/splices" empty
	smc_run "$programs/preload/splices" empty
	all_on_smc 1
}
