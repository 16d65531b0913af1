#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 600
# deferred: listeners with TCP_DEFER_ACCEPT are served, and give out what TCP
# gives out, when it does. deferred.py plays.
# shellcheck disable=SC2154 # set by smc.bash
: "${place-}" "${smc_before-}"

load smc

setup() {
	smc_begin
	# A quarter of it is for bytes to come, however busy the host is.
	export SMC_R_HANDSHAKE=20000
	play=$BATS_TEST_DIRNAME/deferred.py
}

teardown() {
	smc_end
}

# Plainly and on SMC the same is seen; at least so many connections with both
# ends on SMC.
same() { # connections, name of the play
	python3 "$play" "$2" >"$place/plain"
	smc_run python3 "$play" "$2" >"$place/smc"
	diff "$place/plain" "$place/smc"
	# Where there is no BPF they stay on TCP.
	[ "$(id -u)" != 0 ] || expect_smc "$1"
}

expect_smc() { # at least so many
	local before after
	read -ra before <<<"$smc_before"
	read -ra after <<<"$(smc_counters)"
	[ $((after[0] - before[0])) -ge $((2 * $1)) ]
}

@test "who accepts and closes at EAGAIN finds everybody's bytes" {
	same 30 closes_on_eagain
}

@test "clients of an event loop" {
	same 20 event_loop
}

@test "who says nothing is not accepted" {
	same 0 idle
}

@test "the time is over: the server speaks first" {
	same 0 late
}

@test "a silent client whose server has become another program" {
	same 0 heir
}

@test "clients that end without a byte" {
	same 0 ends
	# A client that forks before the first word says none, and breaks no
	# rule.
	smc_reasons >"$place/reasons"
	run grep '^MESSAGE ' "$place/reasons"
	[ "$status" = 1 ]
}

@test "the option is set before listen, after it, cleared and set again" {
	same 3 options
}

@test "a thread reads before another one writes" {
	same 1 reader_and_writer
}

@test "several processes accept" {
	same 30 prefork
}
