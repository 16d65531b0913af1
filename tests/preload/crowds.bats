#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# crowds: more connections in one instance, poll or select than are looked at
# one by one. Each game is played on plain TCP as well, which shows that it is
# right, and with the library that naps where a wake-up could be lost.
# limit: 900

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${smc_new-}"

setup() {
	smc_begin
	# A library that naps where a wake-up could be lost.
	napping=${SMC_R_BUILD:-build}/inject/lib/libsmc_r.so
	seeds=2
	[ -z "${SMC_R_LONG-}" ] || seeds=60
}

# The seed comes fourth, as in the programs' usage; what follows it is theirs.
play() { # connections, program, its arguments up to the seed... [-- those after]
	local least=$1 seed program=$programs/preload/$2 before=() after=()
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		before+=("$1")
		shift
	done
	[ $# -eq 0 ] || after=("${@:2}")
	"$program" "${before[@]}" 1 ${after[@]+"${after[@]}"}
	for ((seed = 1; seed <= seeds; seed++)); do
		smc_run "$program" "${before[@]}" $seed \
			${after[@]+"${after[@]}"}
		[ ! -e "$napping" ] || LD_PRELOAD=$napping "$program" \
			"${before[@]}" $seed ${after[@]+"${after[@]}"}
	done
	smc_count
	echo "smc $smc_new of $((2 * seeds * least))"
	# A late acceptor may leave one or the other on TCP.
	[ "$smc_new" -ge $((seeds * least)) ]
	[ -e "$napping" ] || skip "make FLAVOUR=inject library: for the rest"
}

@test "a thread sleeps while another one meets a full ring" {
	play 70 crowd refused 70 400
}

@test "a sleep in poll on the instance" {
	play 70 crowd poll 70 150
}

@test "a sleep in select on the instance" {
	play 70 crowd select 70 150
}

@test "all are ready, and each has its turn" {
	play 200 crowd turns 200 40
}

# Their RMBs are more than find room in one row.
@test "all of a thousand are ready, and each has its turn" {
	play 1000 crowd turns 1000 10
}

@test "children wait for a connection each that they inherited" {
	play 70 crowd heirs 70 1
}

@test "a few connections, and all that can happen to them" {
	play 20 mixed_load 20 800
}

@test "a hundred connections" {
	play 100 mixed_load 100 400
}

@test "three hundred connections" {
	play 300 mixed_load 300 150
}

@test "a thousand connections" {
	play 1000 mixed_load 1000 100
}

@test "one thread sleeps while another one acts" {
	play 100 mixed_load 100 300 -- 1
}

@test "four threads sleep while another one acts" {
	play 100 mixed_load 100 300 -- 4
}
