#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# netstat: SMC-R's statistics are ours, all else is net-tools'.

load device

setup() {
	device_setup
	mkdir -p "$BATS_TEST_TMPDIR/others"
	printf '#!/bin/sh\necho "other: $*"\nexit 3\n' \
		>"$BATS_TEST_TMPDIR/others/netstat"
	chmod +x "$BATS_TEST_TMPDIR/others/netstat"
}

teardown() {
	device_teardown
}

@test "without a device there is a cure" {
	local words
	for words in "-s -p smc" "-sp smc" "-p smc -ss"; do
		# shellcheck disable=SC2086
		run netstat $words
		[ "$status" -eq 1 ]
		[ "$output" = "netstat: smc_r0 is not Available in $SMC_R_RUNDIR. Make it so with mkdev -c tcpip -t smc_r" ]
	done
}

@test "-v is what entstat says" {
	make_device
	run netstat -v smc_r0
	[ "$status" -eq 0 ]
	[ "${lines[1]}" = "ETHERNET STATISTICS (smc_r0) :" ]
	says "smc:" netstat -ss -p smc
}

@test "-v of no device is entstat's error" {
	PATH=$(dirname "$(command -v netstat)"):$BATS_TEST_TMPDIR/others:$PATH
	run netstat -v nosuch0
	[ "$status" -eq 1 ]
	[[ $output == "entstat: 0909-003 Unable to connect to device nosuch0, "* ]]
}

@test "all else goes to the next netstat" {
	local words
	PATH=$(dirname "$(command -v netstat)"):$BATS_TEST_TMPDIR/others
	PATH=$PATH:/usr/bin:/bin
	for words in "" "-nr" "-s -p tcp" "-v" "-v lo" "-s" "-p smc" \
		"--tcp smc"; do
		# shellcheck disable=SC2086
		run netstat $words
		[ "$status" -eq 3 ]
		[ "$output" = "other: $words" ]
	done
}

@test "where there is none, its package is named" {
	need_root # a /usr/bin of its own
	# shellcheck disable=SC2016 # the inner shell has the words
	run unshare -m sh -c '
		mount --bind "$1" /usr/bin/netstat && exec "$2" -nr' sh \
		/dev/null "$(command -v netstat)"
	[ "$status" -eq 1 ]
	[[ $output == *"which is of the package net-tools."* ]]
}
