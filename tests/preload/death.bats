#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# death: processes that die by SIGKILL anywhere in the life of a connection.
# limit: 400

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${own-}" "${user-}" "${place-}" "${smc_new-}" "${smc_before-}"

setup() {
	smc_begin
	unset SMC_R_HANDSHAKE # late peers are part of the game
	death=$programs/preload/death
	seed=1 deaths=200
	# Others each time, in long runs.
	[ -z "${SMC_R_LONG-}" ] || seed=$((RANDOM + 2)) deaths=20000
	echo "seed $seed"
}

# The next process finds what the dead left, and takes it away.
nothing_is_left() { # run directory
	smc_run "$programs/preload/edges" crowd 1
	entstat -j smc_r0 | jq -e '.now.rmb_reserved == 0 and
		.now.rmb_bytes == 0 and .now.processes == 0'
	find "$1"/users/*/status -name '[1-9]*' | tee "$place/segments"
	[ ! -s "$place/segments" ]
	# Names of the two that came by: their children do not run exit().
	[ "$(find "$1"/users/*/peer -type s | wc -l)" -le 2 ]
}

@test "what is expected is what TCP does" {
	"$death" "$seed" 60
}

@test "deaths at system calls and behind them" {
	smc_run "$death" "$seed" "$deaths"
	smc_count
	echo "smc $smc_new"
	# The survivor and the mate go on with new ones, each with two ends.
	[ "$smc_new" -ge $((2 * deaths)) ]
	nothing_is_left "$SMC_R_RUNDIR"
}

@test "deaths of an ordinary user's processes, without BPF" {
	own_device
	"${user[@]}" smc_run "$death" "$seed" $((deaths / 3))
	"${user[@]}" smc_run "$programs/preload/edges" crowd 1
	entstat -j smc_r0 | jq -e '.now.rmb_reserved == 0 and
		.absolute.smc_connections >= 100'
	find "$own"/run/users/*/status -name "[1-9]*" \
		-newer "$own/odm" | tee "$place/segments"
	[ ! -s "$place/segments" ]
	# The last one may be on its way out.
	await_true "${user[@]}" rmdev -q -dl smc_r0
}

# What it had written is in the ring or on TCP, and a client that makes no call
# meanwhile reads it afterwards. Some ten of those system calls are between.
@test "a server that dies as it takes its Accept back" {
	local at step=4
	own_device
	[ -z "${SMC_R_LONG-}" ] || step=1
	for ((at = 0; at < 400; at += step)); do
		"${user[@]}" smc_run "$death" --one handed accepts late \
			"$at" 0 >"$place/death.log"
	done
	# The last one may be on its way out.
	await_true "${user[@]}" rmdev -q -dl smc_r0
}
