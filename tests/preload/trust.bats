#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# trust: nothing that another user makes, or connects, counts for what a program
# meant.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}" "${smc_new-}"

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs another user"
}

# The ring's bytes go to a successor without the engine over a relay.
relay() { # way, family
	run timeout 20 "$programs/preload/interloper" "$1" \
		smc_run "$programs/preload/interloper" heir "$2"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"interloper: "* ]]
	[[ "$output" == *"what was sent"* ]]
	[[ "$output" != *"what was not"* ]]
}

@test "a relay is not another user's who connects first" {
	need_root
	relay one 4
	relay one 6
}

@test "nor of one who fills its queue" {
	need_root
	relay many 4
	relay many 6
}

@test "nor of one who connects from the same port of another address" {
	need_root
	relay likeness 4
}
