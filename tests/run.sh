#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# run: run test suites and sum up what they say.
#
# usage: tests/run.sh [suite]...
#
# A suite is the name of a unit test (unit/wire, unit-asan/wire, unit-tsan/
# wire), of a fuzz corpus (fuzz/clc, fuzz-asan/clc), of a bats file (cmd/
# mkdev.bats: a path below tests), "lint" or "model". A bare group (unit, fuzz, cmd,
# oracle ...) means all suites of that group; make passes the lists in $UNIT and
# $FUZZ. No argument: everything that "make check" stands for.
#
# Bats suites run one after another, as they use the host's ports and its BPF
# hooks; at the same time, in a second lane, all others do, and the virtual
# machines (kernel). Those that have network namespaces of their own (ofed), or a
# line "# lane: any", as nothing that they make is seen by others, are for the
# lane that is done first. CHECK_LANES=1 makes it one lane; that is the
# default where there is one processor.
#
# Each suite has a database, a run directory and a temporary directory of its
# own and a time limit: 300 seconds, or what a line "# limit: SECONDS" of a bats
# file says; with SMC_R_LONG, $CHECK_LIMIT or a line "# long: SECONDS". Without it
# those tests run whose name fits a line "# short: REGEX", if there is one. Nothing
# that a suite does or leaves can stop this script (tests/suite.sh). A suite that
# has not begun at $CHECK_DEADLINE, seconds since 1970, fails. Those that
# $CHECK_SPARE names come last, and are skipped when less than four minutes are
# left.
#
# What a suite leaves running is ended, and counted as a failure. The last line
# is "N passed, N failed", with ", N skipped" where some were; the exit is 0 only
# when none failed. The names of the tests that failed stand before it. All output
# of a suite is kept in build/check/SUITE.log.
#
# With CHECK_AGAIN, the tests that failed in up to so many suites run once more
# when all others have ended, with nothing beside them, and the second run counts.
# What had failed in the first is named as "unsteady" before the sum; its output is
# kept in build/check/SUITE.first.log.
set -u
cd "$(dirname "$0")/.." || exit 2

top=$PWD
logs=$top/build/check
limit_default=${CHECK_LIMIT:-300}
deadline=${CHECK_DEADLINE:-}
read -rd "" -a spare <<<"${CHECK_SPARE:-}" || true
lanes=${CHECK_LANES:-$(nproc)}
mkdir -p "$logs" || exit 2
tmp=$(mktemp -d /tmp/smc_r.XXXXXX) || exit 2
trap 'rm -rf "$tmp"' EXIT

# As root, a suite gets a PID namespace, and a /tmp and a /dev/shm in which names
# made of process ids, as Criterion's are, meet nobody else's. Elsewhere it gets a
# parent that adopts all its orphans (PR_SET_CHILD_SUBREAPER).
cage=(unshare --mount --ipc --pid --fork --kill-child --mount-proc)
caged=1
mkdir "$tmp/tmp"
if ! SUITE_TOP=$top SUITE_TMP=$tmp/tmp "${cage[@]}" tests/suite.sh 10 true \
	>/dev/null 2>&1; then
	cage=(python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)
os.execv(sys.argv[1], sys.argv[1:])')
	caged=
fi

# TAP to "passed failed skipped". $2 is the exit status of the suite. A test of
# the plan that never reported failed; so did a suite that said nothing.
count() { # file, status
	awk -v status="$2" '
	/^1\.\.[0-9]+/ { split($0, p, /\.\.| /); plan = p[2] + 0; planned = 1 }
	/^not ok/ { failed++; next }
	/^ok/ {
		if (tolower($0) ~ /# skip/)
			skipped++
		else
			passed++
	}
	END {
		seen = passed + failed + skipped
		if (planned && plan > seen)
			failed += plan - seen
		if (failed == 0 && (status != 0 || seen == 0))
			failed++
		print passed + 0, failed + 0, skipped + 0
	}' "$1"
}

# The command of a suite, in the array "argv". It prints TAP.
command_of() { # suite
	local group=${1%%/*} name=${1#*/} flavour=plain short
	case $group in
	*-asan) flavour=asan ;;
	*-tsan) flavour=tsan ;;
	*-cov) flavour=cov ;;
	esac
	case $group in
	unit | unit-*)
		argv=("build/obj/$flavour/tests/unit/${name}_test" -j1
			--timeout 60 --tap=-)
		# A look for what is left takes as long as the test before it.
		[ $flavour != asan ] || [ -n "${SMC_R_LONG-}" ] ||
			argv=(env ASAN_OPTIONS=detect_leaks=0 "${argv[@]}")
		# TSan's shadow memory wants the usual layout of addresses.
		[ $flavour != tsan ] || argv=(setarch -R "${argv[0]}")
		;;
	fuzz | fuzz-*)
		argv=(tests/fuzz/corpus.sh
			"build/obj/$flavour/tests/fuzz/${name}_corpus"
			"tests/fuzz/corpus/$name")
		;;
	lint)
		argv=(tests/lint.sh)
		# The other lane needs a processor.
		[ "$lanes" = 1 ] || argv=(env JOBS=$(($(nproc) - 1)) "${argv[@]}")
		;;
	model)
		argv=(tests/model/check.sh)
		;;
	*)
		argv=(bats --tap)
		short=$(sed -n 's/^# short: //p' "tests/$1" | head -n 1)
		[ -z "$short" ] || [ -n "${SMC_R_LONG-}" ] ||
			argv+=(-f "$short")
		argv+=("tests/$1")
		;;
	esac
}

is_spare() { # suite
	local name
	for name in "${spare[@]}"; do
		[ "$1" != "$name" ] && [ "${1%/*}" != "$name" ] || return 0
	done
	return 1
}

is_too_late() { # suite
	[ -n "$deadline" ] && is_spare "$1" &&
		[ $((deadline - EPOCHSECONDS)) -lt 240 ]
}

# The arguments, with the spare ones last.
spare_last() { # suites...
	local suite last=()
	for suite; do
		if is_spare "$suite"; then last+=("$suite"); else
			printf '%s\n' "$suite"
		fi
	done
	[ ${#last[@]} = 0 ] || printf '%s\n' "${last[@]}"
}

limit_of() { # suite
	local limit='' key='limit'
	[ -z "${SMC_R_LONG-}" ] || key=long
	case $1 in
	lint) limit=900 ;;
	*.bats) limit=$(sed -n "s/^# $key: \([0-9]*\)\$/\1/p" "tests/$1" |
		head -n 1) ;;
	esac
	limit=${limit:-$limit_default}
	if [ -n "$deadline" ] && [ $((deadline - EPOCHSECONDS)) -lt "$limit" ]
	then
		limit=$((deadline - EPOCHSECONDS))
	fi
	echo "$limit"
}

# A fresh place for a suite; everything that our programs look up is private.
# Its path is short, because names of sockets have 108 bytes. All of it is over
# some seconds after the limit, even if its processes cannot be ended.
run_private() { # lane, limit, command...
	local host=$tmp/$1 limit=$2 dir
	shift 2
	dir=$host/s
	[ -z "$caged" ] || dir=/tmp/s
	rm -rf "$host"
	mkdir -p "$host/s/odm" "$host/s/run" "$host/s/ofed" "$host/s/t"
	# As /tmp is: daemons that leave root write there too.
	chmod 1777 "$host" "$host/s/t"
	exec env -u SMC_R -u LD_PRELOAD \
		SMC_R_TOP="$top" SMC_R_BUILD="$top/build" \
		SUITE_TOP="$top" SUITE_TMP="$host" \
		PATH="$top/build/bin:$PATH:/usr/sbin:/sbin" \
		ODMDIR="$dir/odm" SMC_R_RUNDIR="$dir/run" \
		SMC_R_LDPRELOAD_FILE="$dir/ld.so.preload" \
		OFED_CONF="$dir/ofed.conf" OFED_CORE_RUNDIR="$dir/ofed" \
		TMPDIR="$dir/t" LC_ALL=C.UTF-8 \
		ASAN_OPTIONS="detect_leaks=1:abort_on_error=0" \
		UBSAN_OPTIONS="print_stacktrace=1" \
		timeout -k 5 $((limit + 25)) "${cage[@]}" \
		tests/suite.sh "$limit" "$@"
}

report() { # suite, status, seconds, log, passed, failed, skipped
	printf '%-40s %4d passed' "$1" "$5"
	[ "$6" = 0 ] || printf ', %d FAILED' "$6"
	[ "$7" = 0 ] || printf ', %d skipped' "$7"
	printf '  (%d s)\n' "$3"
	if [ "$6" != 0 ]; then
		# Each failure with what the suite said about it.
		awk '/^not ok/ { show = 1 } /^ok/ { show = 0 }
			/^[^on#1 \t]/ { if (!/^TAP/) show_line = 1 }
			show || show_line { print "    " $0; show_line = 0 }' \
			"$4" | head -n 60
		printf '    (exit %d; all of it: build/check/%s.log)\n' \
			"$2" "${1//\//-}"
	elif [ "$7" != 0 ]; then
		grep -i '^ok.*# skip' "$4" | sed 's/^/    /'
	fi
}

run_suite() { # lane, suite, arguments of bats...
	local lane=$1 suite=$2 limit begin=$SECONDS status p f s
	# Its own until it is complete: another run may use the same tree.
	local log=$tmp/log.$lane
	limit=$(limit_of "$suite")
	command_of "$suite"
	shift 2
	argv+=("$@")
	if is_too_late "$suite"; then
		echo "ok - $suite # skip no time is left; make check" >"$log"
		status=0
	elif [ "$limit" -gt 0 ]; then
		run_private "$lane" "$limit" "${argv[@]}" \
			>"$log" 2>&1 </dev/null &
		# In the background, so that a signal is seen at once.
		job=$!
		wait "$job"
		status=$?
		job=
	else
		echo "not ok - $suite: not run, the time for all is over" >"$log"
		status=124
	fi
	read -r p f s <<<"$(count "$log" $status)"
	cp "$log" "$logs/${suite//\//-}.log"
	echo "$p $f $s $suite" >>"$tmp/counts"
	report "$suite" $status $((SECONDS - begin)) "$log" "$p" "$f" "$s" \
		>"$tmp/report.$lane"
	# In one piece.
	flock "$tmp/counts" cat "$tmp/report.$lane"
}

# Ends the suite at work, and with it all of its processes.
# shellcheck disable=SC2317 # called by a trap
end_lane() {
	[ -n "$job" ] || exit 130
	if [ -n "$caged" ]; then
		kill -KILL -- "-$job" 2>/dev/null
	else
		kill -TERM "$job" 2>/dev/null
	fi
	wait "$job"
	exit 130
}

run_lane() { # number, suites...
	local lane=$1 suite
	shift
	job=
	trap end_lane TERM
	trap - EXIT
	for suite in "$@"; do
		run_suite "$lane" "$suite"
	done
	while suite=$(next_free) && [ -n "$suite" ]; do
		run_suite "$lane" "$suite"
	done
}

# Takes the first line of those that any lane may run, and prints it.
next_free() {
	flock "$tmp/counts" sed -i -e '1{w /dev/stdout' -e 'd}' "$tmp/free"
}

# The suites in which something failed, one a line.
failed_suites() {
	awk '$2 { print $4 }' "$tmp/counts"
}

# A regular expression for the tests of a bats file that failed; nothing where the
# suite as a whole did, or some of its tests did not come to their turn.
failed_tests() { # suite, log
	local failed
	[[ $1 = *.bats ]] || return 0
	failed=$(awk -v suite="$1" '$4 == suite { print $2 }' "$tmp/counts")
	[ "$(grep -c '^not ok [0-9]' "$2")" = "$failed" ] || return 0
	sed -n 's/^not ok [0-9]* //p' "$2" | sed 's/[][\.*^$+?(){}|]/\\&/g' |
		paste -s -d '|' | sed 's/.*/^(&)$/'
}

# What failed of a suite, or all of it, once more. Its passes are kept.
run_suite_again() { # suite
	local name=${1//\//-} only
	cp "$logs/$name.log" "$logs/$name.first.log"
	sed -n "s|^not ok|unsteady: $1:|p" "$logs/$name.first.log" \
		>>"$tmp/unsteady"
	only=$(failed_tests "$1" "$logs/$name.first.log")
	if [ -n "$only" ]; then
		sed -i -E "s|^([0-9]+) [0-9]+ ([0-9]+) $1\$|\1 0 \2 -|" \
			"$tmp/counts"
	else
		sed -i "\\| $1\$|d" "$tmp/counts"
	fi
	run_suite a "$1" ${only:+-f "$only"}
}

run_again() {
	local suite failed
	mapfile -t failed < <(failed_suites)
	if [ ${#failed[@]} = 0 ] || [ ${#failed[@]} -gt "${CHECK_AGAIN:-0}" ]; then
		return
	fi
	echo "again, with nothing beside: ${failed[*]}"
	(
		trap end_lane TERM
		trap - EXIT
		job=
		for suite in "${failed[@]}"; do
			run_suite_again "$suite"
		done
	) &
	pids=($!)
	wait
}

name_failures() {
	local suite
	[ ! -e "$tmp/unsteady" ] || cat "$tmp/unsteady"
	for suite in $(failed_suites); do
		sed -n "s|^not ok|failed: $suite:|p" "$logs/${suite//\//-}.log"
	done
}

# A group's suites, one a line.
suites_of() { # argument
	local name
	case $1 in
	lint | model | */*)
		echo "$1"
		;;
	unit | unit-*)
		for name in ${UNIT-}; do echo "$1/$name"; done
		;;
	fuzz | fuzz-*)
		for name in ${FUZZ-}; do echo "$1/$name"; done
		;;
	*)
		find "tests/$1" -maxdepth 1 -name '*.bats' -printf "$1/%f\n" \
			2>/dev/null |
			sort
		;;
	esac
}

# Prints the sum. A suite without a count was not run to its end.
sum_up() { # number of suites
	awk -v suites="$1" '
	{ passed += $1; failed += $2; skipped += $3 }
	$4 != "-" { suites-- }
	END {
		failed += suites
		printf "%d passed, %d failed", passed, failed
		if (skipped)
			printf ", %d skipped", skipped
		print ""
		exit !(passed && !failed)
	}' "$tmp/counts"
}

# shellcheck disable=SC2317 # called by a trap
interrupted() {
	echo interrupted
	kill -TERM "${pids[@]}" 2>/dev/null
	wait
	exit 130
}

# A function, so that the shell has read all of this file before it begins.
main() {
	local argument suite alone=() beside=() free=()
	[ $# != 0 ] || set -- unit unit-asan fuzz-asan model cmd net preload oracle
	for argument in "$@"; do
		for suite in $(suites_of "$argument"); do
			case $suite in
			kernel/*) beside+=("$suite") ;;
			ofed/*) free+=("$suite") ;;
			*.bats) if grep -qx '# lane: any' "tests/$suite"; then
				free+=("$suite")
			else
				alone+=("$suite")
			fi ;;
			*) beside+=("$suite") ;;
			esac
		done
	done
	: >"$tmp/counts"
	: >"$tmp/free"
	[ ${#free[@]} = 0 ] || spare_last "${free[@]}" >"$tmp/free"
	mapfile -t alone < <(spare_last "${alone[@]}")
	pids=()
	trap interrupted HUP INT TERM
	if [ "$lanes" = 1 ]; then
		run_lane a "${beside[@]}" "${alone[@]}" &
		pids+=($!)
	else
		run_lane a "${beside[@]}" &
		pids+=($!)
		run_lane b "${alone[@]}" &
		pids+=($!)
	fi
	wait
	run_again
	name_failures
	sum_up $((${#alone[@]} + ${#beside[@]} + ${#free[@]}))
	exit
}

main "$@"
