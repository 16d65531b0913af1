#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# nested: an epoll instance in another one is the kernel's. Its connections go
# back to TCP, and the program sees the same as on plain TCP.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${smc_new-}" "${demoted_new-}"

setup() {
	smc_begin
	nested_before=$(smc_reason DEMOTED_NESTED)
}

# nested_new: ends that it was the reason for.
nested_case() { # case
	local script=$BATS_TEST_DIRNAME/nested.py

	python3 "$script" "$1" >"$BATS_TEST_TMPDIR/tcp"
	smc_run python3 "$script" "$1" >"$BATS_TEST_TMPDIR/smc"
	diff "$BATS_TEST_TMPDIR/tcp" "$BATS_TEST_TMPDIR/smc"
	smc_count
	nested_new=$(($(smc_reason DEMOTED_NESTED) - nested_before))
	echo "$1: smc $smc_new demoted $demoted_new nested $nested_new"
	[ -s "$BATS_TEST_TMPDIR/tcp" ]
}

@test "bytes that are unread" {
	nested_case unread
	[ "$nested_new" = 3 ]
}

@test "connections that come later" {
	nested_case later
	[ "$nested_new" -ge 3 ]
}

@test "threads that sleep in the inner instance" {
	nested_case asleep
	[ "$nested_new" = 1 ]
}

@test "a thread registers connections at the same time" {
	nested_case racing
	[ "$nested_new" = 34 ]
}

@test "a peer that was killed" {
	nested_case killed
	[ "$nested_new" = 1 ]
}

@test "poll, select, and an outer instance stay on SMC" {
	nested_case polled
	[ "$nested_new" = 0 ] && [ "$demoted_new" = 0 ] && [ "$smc_new" = 2 ]
}
