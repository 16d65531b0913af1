#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# manual: what the manual of AIX promises of RDMA is what happens here.
#
# A file in tests/cmd/manual is a chapter, a table of facts. A line that begins
# with "- " is a fact in our words; the indented lines below it are its test, a
# bash script in which every command has to succeed. Each test has a database
# and a run directory of its own. A test that ends with 77 is skipped; the last
# line that it printed says why. Indented lines above the first fact run before
# each test of the chapter.
# lane: any

load device

setup() {
	device_setup
}

# rows TABLE: a script for each row, "NUMBER.sh", and its fact, "NUMBER".
rows() {
	awk -v dir="$BATS_TEST_TMPDIR/rows" '
	/^#/ || /^$/ { next }
	/^- / {
		file = sprintf("%s/%03d", dir, ++n)
		print substr($0, 3) >file
		printf "%s", before >(file ".sh")
		next
	}
	/^\t/ && !n { before = before substr($0, 2) "\n"; next }
	/^\t/ { print substr($0, 2) >(file ".sh"); next }
	{ print "no row: " $0; exit 1 }' "$1"
}

holds() { # chapter
	local row bad=0
	mkdir "$BATS_TEST_TMPDIR/rows"
	rows "$SMC_R_TOP/tests/cmd/manual/$1"
	for row in "$BATS_TEST_TMPDIR"/rows/???; do
		ODMDIR=$row.odm SMC_R_RUNDIR=$row.run CHAPTERS=$SMC_R_TOP/tests/cmd/manual \
			bash -eu -o pipefail "$row.sh" >"$row.log" 2>&1 3>&- ||
			case $? in
			77) echo "# skipped: $(cat "$row"): $(tail -n 1 "$row.log")" >&3 ;;
			*)
				bad=1
				echo "NOT SO: $(cat "$row")"
				sed 's/^/    /' "$row.sh" "$row.log"
				;;
			esac
		ODMDIR=$row.odm SMC_R_RUNDIR=$row.run rmdev -q -dl smc_r0 || true
	done
	[ $bad = 0 ]
}

@test "SMC-R" { holds smc_r; }

@test "every chapter has its test" {
	local file
	for file in "$SMC_R_TOP"/tests/cmd/manual/*; do
		[[ $file != *.py ]] || continue
		grep -q "holds ${file##*/};" "$BATS_TEST_FILENAME"
	done
}
