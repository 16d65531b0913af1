#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# astray: threads that leave a call by longjmp or are cancelled in it, on plain
# TCP and on SMC.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${smc_new-}"

both_ways() { # how
	run timeout 60 "$programs/preload/astray" "$1"
	[ "$output" = well ]
	run timeout 60 smc_run "$programs/preload/astray" "$1"
	[ "$output" = well ]
	smc_count
	[ "$smc_new" = 2 ]
}

@test "a handler that jumps out of a sleeping recv" {
	both_ways jump
}

@test "a handler that jumps out of a sleeping poll" {
	both_ways jump-poll
}

@test "a handler that jumps out of a sleeping poll, and a close" {
	both_ways jump-close
}

@test "a thread that is cancelled in poll" {
	both_ways cancel-poll
}

@test "a thread that is cancelled in recv" {
	both_ways cancel
}

@test "a thread that is cancelled in send" {
	both_ways cancel-send
}

@test "a thread that is cancelled before a call that would not sleep" {
	both_ways cancel-ready
}

@test "a writer whose number is given to something else" {
	"$programs/preload/replaced" 300
	smc_run "$programs/preload/replaced" 300
	smc_count
	[ "$smc_new" -ge 600 ]
}
