#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# oracle: carries out scripts on plain TCP and under the library; the logs of
# all return values, errors, sums and readiness bits must be equal. So must the
# time that a step takes, as far as a waiter tells it: a thread that is woken
# late, or not before its time-out, may still have the right values. Such a step
# is LATE when it was so in two runs. Both are compared within the table
# DIFFERENCES FROM TCP of smc_r(7): what it lists is no fault, and scripts keep
# clear of it.
#
# usage: tests/oracle/oracle.sh [-n SEEDS] [-s FIRST] [-m MODES] [-w WRONG]
#	     [-r REPEAT] [-j JOBS] [-k] [-v] [SCENARIO]...
#
#   -n SEEDS   that many generated scripts (0), from seed FIRST (1); those from
#              1000000, 3000000, 10000000 and 20000000 on know more steps
#              (generate.h); the last ones are about how connections begin
#   -m MODES   which processes have the library: both,A,B (all three);
#              "plain" runs without it a second time and tests this test
#   -w WRONG   use the library that is wrong in this way; stop at the first
#              difference, and the exit is 0 only if there was one
#   -r REPEAT  each script so many times (1)
#   -j JOBS    so many scripts at once (1); each has ports of its own
#   -k         keep the logs, in the directory that is printed
#   -v         whole differences, not only their beginning
#
# SCENARIO is the name of a file in tests/oracle/scenarios, "all" for each of
# them, the path of a script, or a seed. Exit: 0 equal, 1 different, 2 cannot
# run.
set -u
# Scripts fill a ring and look at the waiting threads. What becomes of that by
# the clock is for tests/preload/stalls.bats.
export SMC_R_STALL=0
# shellcheck source=/dev/null
. "$(dirname "$0")/begin.bash"
# shellcheck disable=SC2154 # set there
: "${build-}" "${wrapper-}" "${here-}"
oracle=$build/obj/plain/tests/oracle/oracle
limit=120
# In the library, of a step that TCP has done in soon_ms. A hundred small pieces
# of which each waits for a delayed ACK take TCP more than 4 s, too.
late_ms=8000
soon_ms=1000

usage() {
	sed -n 's/^# usage: /usage: /p; s/^#\t/       /p' "$0" >&2
	exit 2
}

seeds=0 first=1 modes=both,A,B wrong='' repeat=1 jobs=1 keep='' verbose=''
while getopts n:s:m:w:r:j:kv option; do
	case $option in
	n) seeds=$OPTARG ;;
	s) first=$OPTARG ;;
	m) modes=$OPTARG ;;
	w) wrong=$OPTARG ;;
	r) repeat=$OPTARG ;;
	j) jobs=$OPTARG ;;
	k) keep=1 ;;
	v) verbose=1 ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
need_program "$oracle"
[ "$modes" = plain ] || need_device
if [ -n "$wrong" ]; then
	modes=both
	wrapper="env ORACLE_WRONG=$wrong LD_PRELOAD=${oracle%/*}/wrong.so"
fi
logs=$(mktemp -d "${TMPDIR:-/tmp}/oracle.XXXXXX") || exit 2
if [ -n "$keep" ]; then
	echo "logs: $logs"
else
	trap 'rm -rf "$logs"' EXIT
fi

ran=0 failed=0

# Runs one script; a log that did not reach its end says why. What each step
# took, in a column of its own, goes to another file.
run() { # script, log, wrapper of A, wrapper of B
	timeout -k 5 $limit "$oracle" -A "$3" -B "$4" "$1" >"$2.raw" 2>&1 ||
		echo "# the script broke off: exit $?" >>"$2.raw"
	sed -E -e 's/\t[0-9]+$//' -f "$here/allowed.sed" "$2.raw" >"$2"
	awk -F '\t' '{ print (NF > 1 ? $NF : 0) }' "$2.raw" >"$2.ms"
}

# The script's own expectations: what plain TCP must never say.
doubts() { # log
	grep -nE 'LATE|NO ANSWER|BAD SCRIPT|NO TASK|WROTE BEYOND|MISSING|# the' \
		"$1" | head -n 3
}

again() { # script, mode
	printf '  again: tests/oracle/oracle.sh -v -m %s ' "$2"
	case $1 in
	[0-9]*) echo "-s $1 -n 1" ;;
	*) basename "$1" .txt ;;
	esac
}

report() { # script, mode, plain log, other log
	failed=$((failed + 1))
	echo "DIFFERENT: $1, library in $2"
	if [ -n "$verbose" ]; then
		diff -U 1000 "$3" "$4" | tail -n +3
	else
		# What led to the first difference, and both of its sides.
		diff -U 4 "$3" "$4" | awk '
			NR < 4 { next }
			/^@/ { exit }
			/^-/ && ++minus > 5 { next }
			/^\+/ && ++plus > 5 { next }
			{ print }'
	fi
	again "$1" "$2"
}

# Numbers of the lines that were late.
late_lines() { # plain log, other log
	paste "$1.ms" "$2.ms" | awk -v soon=$soon_ms -v late=$late_ms \
		'$1 < soon && $2 >= late { print NR }'
}

report_late() { # script, mode, log, line
	failed=$((failed + 1))
	echo "LATE: $1, library in $2, by $(sed -n "$4p" "$3.ms") ms"
	if [ -n "$verbose" ]; then
		paste "$3.ms" "$3"
	else
		head -n "$4" "$3" | tail -n 12
	fi
	again "$1" "$2"
}

# In the same place again, as the machine may have been busy once.
confirm_late() { # script, mode, wrapper of A, wrapper of B
	local plain=$place/plain other=$place/$2 line

	line=$(late_lines "$plain" "$other" | head -n 1)
	[ -n "$line" ] || return 0
	run "$1" "$other" "$3" "$4"
	if ! cmp -s "$plain" "$other"; then
		report "$1" "$2" "$plain" "$other"
	elif late_lines "$plain" "$other" | grep -qx "$line"; then
		report_late "$1" "$2" "$other" "$line"
	else
		echo "late once: $1, library in $2, line $line"
	fi
}

# Where the ends race, TCP has more than one outcome, of which it shows one.
tcp_does_so_too() { # script, mode, other log
	local i
	[ -z "$wrong" ] || return 1
	for i in 1 2 3; do
		run "$1" "$place/plain.$i" '' ''
		cmp -s "$place/plain.$i" "$3" || continue
		echo "as TCP in its run $((i + 1)): $1, library in $2"
		return 0
	done
	return 1
}

compare() { # script, mode
	local script=$1 mode=$2 plain=$place/plain other=$place/$2 a='' b=''
	case $mode in
	both) a=$wrapper b=$wrapper ;;
	A) a=$wrapper ;;
	B) b=$wrapper ;;
	esac
	run "$script" "$other" "$a" "$b"
	ran=$((ran + 1))
	if cmp -s "$plain" "$other"; then
		confirm_late "$script" "$mode" "$a" "$b"
	elif ! tcp_does_so_too "$script" "$mode" "$other"; then
		report "$script" "$mode" "$plain" "$other"
	fi
}

# In a directory of its own; what came of it goes to a file there.
script_run() { # script, number
	local mode i
	place=$logs/$2.$(basename "$1" .txt)
	mkdir -p "$place"
	run "$1" "$place/plain" '' ''
	if [ -n "$(doubts "$place/plain")" ]; then
		failed=$((failed + 1))
		echo "NOT FIT: $1 on plain TCP"
		doubts "$place/plain"
		again "$1" plain
	else
		for ((i = 0; i < repeat; i++)); do
			for mode in ${modes//,/ }; do
				compare "$1" "$mode"
			done
		done
	fi
	echo "$ran $failed" >"$place/sum"
	[ -n "$keep" ] || rm -f "$place/plain"* "$place"/{both,A,B}*
}

scripts=()
for name in "$@"; do
	if [ "$name" = all ]; then
		scripts+=("$here"/scenarios/*.txt)
	elif [ -e "$name" ] || [[ $name =~ ^[0-9]+$ ]]; then
		scripts+=("$name")
	elif [ -e "$here/scenarios/$name.txt" ]; then
		scripts+=("$here/scenarios/$name.txt")
	else
		echo "oracle.sh: no scenario '$name'" >&2
		exit 2
	fi
done
for ((seed = first; seed < first + seeds; seed++)); do
	scripts+=("$seed")
done
[ ${#scripts[@]} != 0 ] || usage

if [ -n "$wrong" ]; then
	for script in "${scripts[@]}"; do
		script_run "$script" 0 >"$logs/said"
		[ -z "$verbose" ] || cat "$logs/said"
		[ $failed = 0 ] || {
			echo "noticed: $wrong, by $(basename "$script" .txt)"
			exit 0
		}
	done
	echo "NOT NOTICED: $wrong"
	exit 1
fi

for number in "${!scripts[@]}"; do
	[ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
	# Prints it in one piece, while other jobs may print as well.
	{
		said=$(script_run "${scripts[number]}" "$number")
		[ -z "$said" ] || echo "$said"
	} &
done
wait
cat "$logs"/*/sum | awk -v scripts=${#scripts[@]} '
	{ ran += $1; failed += $2 }
	END {
		failed += scripts - NR
		print ran " runs of " scripts " scripts, " failed " different"
		exit failed != 0
	}'
