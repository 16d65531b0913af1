#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# golden: listings, byte for byte.
#
# Each file in tests/cmd/golden holds commands, in lines that begin with "$ ",
# and below each, in the lines up to the next, what it prints. They run in the order of the file, with a
# device that has just been made. SMC_R_GOLDEN=write writes the files anew.
# lane: any

load device

setup() {
	device_setup
	export SMC_R_TUNABLES=$BATS_TEST_TMPDIR/tunables
	make_device
}

teardown() {
	device_teardown
}

# What a clock counts is not compared.
play() { # file
	local line
	head -n 1 "$1"
	grep '^\$ ' "$1" | while IFS= read -r line; do
		printf '%s\n' "$line"
		eval "${line#\$ }" 2>&1 |
			sed 's/^\(Elapsed Time:\).*/\1 .../; s/time = [0-9]*/time = .../'
	done
}

same() { # name
	local file=$SMC_R_TOP/tests/cmd/golden/$1
	play "$file" >"$BATS_TEST_TMPDIR/out"
	[ "${SMC_R_GOLDEN-}" != write ] || cp "$BATS_TEST_TMPDIR/out" "$file"
	diff "$file" "$BATS_TEST_TMPDIR/out"
}

@test "lsattr" { same lsattr; }
@test "lsdev" { same lsdev; }
@test "odmget" { same odmget; }
@test "odmshow" { same odmshow; }
@test "entstat" { same entstat; }
@test "netstat" { same netstat; }
@test "cfgmgr" { same cfgmgr; }
@test "no" { same no; }

@test "every file has its test" {
	local file
	for file in "$SMC_R_TOP"/tests/cmd/golden/*; do
		grep -q "same ${file##*/};" "$BATS_TEST_FILENAME"
	done
}
