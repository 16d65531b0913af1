#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# coverage: what lines of each file the unit tests reached.
#
# usage: make check-cov        (builds with --coverage, runs, calls this)
#
# One line for each source file, worst first: percent, lines, name. A figure to
# look at, not a gate.
set -eu
cd "$(dirname "$0")/.."
find build/obj/cov -name '*.gcda' ! -path '*/tests/*' | sort |
	while read -r data; do
		gcov -n -o "${data%/*}" "$data" 2>/dev/null
	done | awk '
	/^File / {
		file = $2
		gsub(/\047/, "", file)
		wanted = file ~ /^(attrdb|conf|smc_r|ofed_core|cmd)\/.*\.c$/
	}
	/^Lines executed:/ && wanted {
		split($2, part, ":")
		percent = part[2] + 0
		printf "%6.1f %% of %4d  %s\n", percent, $4, file
		wanted = 0
	}' | sort -n | uniq
