#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What is the same for every command.
# lane: any

load device

setup() {
	device_setup
	commands=$(dirname "$(command -v mkdev)")
}

@test "-h prints the usage on standard output, and says if it cannot" {
	local command count=0
	[ -w /dev/full ] || skip "no /dev/full"
	for command in "$commands"/*; do
		echo "$command"
		"$command" -h >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/error"
		grep -qi "usage:" "$BATS_TEST_TMPDIR/out"
		[ ! -s "$BATS_TEST_TMPDIR/error" ]
		run sh -c '"$1" -h >/dev/full' sh "$command"
		[ "$status" -ne 0 ]
		[ "${#lines[@]}" -eq 1 ]
		count=$((count + 1))
	done
	[ "$count" -gt 10 ]
}

@test "--version says command, project and version" {
	local command version
	version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$SMC_R_TOP/debian/changelog")
	for command in "$commands"/*; do
		run --separate-stderr "$command" --version
		echo "$output"
		[ "$status" -eq 0 ]
		[ "$output" = "${command##*/} (smc_r) $version" ]
		# shellcheck disable=SC2154 # bats sets it
		[ -z "$stderr" ]
	done
	run sh -c 'entstat --version >/dev/full'
	[ "$status" -eq 1 ]
}
