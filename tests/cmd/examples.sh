#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# examples: run the EXAMPLES of a man page and compare what they print.
#
# usage: tests/cmd/examples.sh PAGE
#
# Every .Bd -literal block of the section is run, all blocks of a page in one
# shell, in the database that $ODMDIR names. A line that begins with "# " or
# "$ " is a command ("\" at its end joins the next line); the lines up to the
# next command are its output and errors, exactly; a line "..." stands for any
# lines. Two comments steer:
#
#   .\" not run: why      the next block is not run
#   .\" run: command      run this first; the reader does not see it
#
# Exits 1 when something differed, 2 when the page has no example that runs.
set -u
page=$1
steps=$(mktemp) out=$(mktemp) expected=$(mktemp)
trap 'rm -f "$steps" "$out" "$expected"' EXIT

# One line for each step: "C command", "O output", "H hidden command".
awk '
function text(line) {
	gsub(/\\e/, "\\", line)
	gsub(/\\-/, "-", line)
	gsub(/\\&/, "", line)
	gsub(/\\\(dq/, "\"", line)
	return line
}
/^\.Sh/ { inside = ($2 == "EXAMPLES") }
!inside { next }
/^\.\\" run: / { sub(/^\.\\" run: /, ""); print "H " $0; next }
/^\.\\" not run: / { skip = 1; next }
/^\.Bd -literal/ { block = 1; next }
/^\.Ed/ { block = skip = 0; next }
block && !skip {
	line = text($0)
	if (joined != "") {
		line = joined line
		joined = ""
	} else if (line !~ /^[#$] /) {
		print "O " line
		next
	} else {
		line = "C " substr(line, 3)
	}
	if (line ~ /\\$/)
		joined = substr(line, 1, length(line) - 1)
	else
		print line
}' "$page" >"$steps"

# Does $out hold what $expected says? "..." stands for any number of lines.
same() {
	awk '
	NR == FNR { want[++n] = $0; next }
	{ have[++m] = $0 }
	function match_from(i, j) {
		while (i <= n && want[i] != "...") {
			if (j > m || want[i] != have[j])
				return 0
			i++
			j++
		}
		if (i > n)
			return j > m
		for (; j <= m + 1; j++)
			if (match_from(i + 1, j))
				return 1
		return 0
	}
	END { exit !match_from(1, 1) }' "$expected" "$out"
}

bad=0 ran=0 command=
compare() {
	[ -n "$command" ] || return
	ran=$((ran + 1))
	if ! same; then
		bad=1
		printf '%s: # %s\n' "$page" "$command"
		echo "--- the page says"
		cat "$expected"
		echo "--- it printed"
		cat "$out"
	fi
	command=
}

mapfile -t lines <"$steps"
for line in ${lines[@]+"${lines[@]}"}; do
	case $line in
	"O "*)
		printf '%s\n' "${line#O }" >>"$expected"
		;;
	"H "*)
		compare
		eval "${line#H }" >/dev/null 2>&1
		;;
	"C "*)
		compare
		command=${line#C }
		: >"$expected"
		eval "$command" >"$out" 2>&1
		;;
	esac
done
compare
[ $ran != 0 ] || { echo "$page: no example that runs"; exit 2; }
exit $bad
