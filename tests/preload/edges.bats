#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# edges: programs that use up what there is, or may use little of it.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${smc_new-}" "${tcp_new-}"

setup_file() {
	smc_device
}

teardown_file() {
	smc_device_end
}

setup() {
	smc_begin
	edges=$programs/preload/edges
}

teardown() {
	smc_end
}

# Plain TCP shows that the program itself is right.
both() { # least number of ends on SMC, argument of edges...
	local least=$1
	shift
	"$edges" "$@"
	smc_run "$edges" "$@"
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	[ "$smc_new" -ge "$least" ]
}

@test "few descriptors: fewer connections, none of them broken" {
	both 6 descriptors 40
	both 60 descriptors 200
}

@test "connections that come and go leave nothing behind" {
	both 200 leak 200
}

@test "more children than can be counted, each with a connection" {
	both 60 crowd 90
}

@test "a program that closes all but its connection" {
	both 4 range
}
