#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# run: run test suites one after another and sum up what they say.
#
# usage: tests/run.sh [suite]...
#
# A suite is the name of a unit test (unit/wire, unit-asan/wire, unit-tsan/
# wire), of a fuzz corpus (fuzz/clc, fuzz-asan/clc), of a bats file (cmd/
# mkdev.bats: a path below tests), or "lint". A bare group (unit, fuzz, cmd,
# oracle ...) means all suites of that group; make passes the lists in $UNIT and
# $FUZZ. No argument: everything that "make check" stands for.
#
# Each suite has a database, a run directory and a temporary directory of its
# own and a time limit (a line "# limit: SECONDS" in a bats file changes it).
# What it leaves running is ended, and counted as a failure. The last line is
# "N passed, N failed", with ", N skipped" where some were; the exit is 0 only
# when none failed. All output of a suite is kept in build/check/SUITE.log.
set -u
cd "$(dirname "$0")/.." || exit 2

top=$PWD
logs=$top/build/check
limit_default=${CHECK_LIMIT:-120}
passed=0 failed=0 skipped=0
mkdir -p "$logs" || exit 2
tmp=$(mktemp -d /tmp/smc_r.XXXXXX) || exit 2
token=smc_r.$$.$RANDOM
# As root each suite has a BPF file system of its own: what it attaches and
# pins there is gone with its last process, however that ended.
own_bpf=()
if unshare -m --propagation private mount -t bpf bpf /sys/fs/bpf 2>/dev/null
then
	# shellcheck disable=SC2016 # for the inner shell
	own_bpf=(unshare -m --propagation private sh -c
		'mount -t bpf bpf /sys/fs/bpf && exec "$@"' sh)
fi
current=
trap 'rm -rf "$tmp"' EXIT
trap 'echo "interrupted in $current"; end_leftovers >/dev/null; exit 130' \
	HUP INT TERM

# Processes that carry the token of this run in their environment.
leftovers() {
	local environ pid
	for environ in /proc/[0-9]*/environ; do
		pid=${environ#/proc/}
		pid=${pid%/environ}
		[ "$pid" != $$ ] || continue
		if grep -qzx "SMC_R_CHECK=$token" "$environ" 2>/dev/null; then
			echo "$pid"
		fi
	done
}

# Ends them; prints "pid name" for each that was there.
end_leftovers() {
	local pid
	for pid in $(leftovers); do
		# The name may hold anything; one line of printable characters.
		printf '%s %s\n' "$pid" "$(tr '\0' ' ' \
			2>/dev/null <"/proc/$pid/cmdline" | cut -c 1-60)"
		kill -KILL "$pid" 2>/dev/null
	done
}

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
	local group=${1%%/*} name=${1#*/} flavour=plain
	case $group in
	*-asan) flavour=asan ;;
	*-tsan) flavour=tsan ;;
	*-cov) flavour=cov ;;
	esac
	case $group in
	unit | unit-*)
		argv=("build/obj/$flavour/tests/unit/${name}_test" -j1
			--timeout 60 --tap=-)
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
		;;
	*)
		argv=(bats --tap "tests/$1")
		;;
	esac
}

limit_of() { # suite
	local limit=
	case $1 in
	lint) limit=900 ;;
	*.bats) limit=$(sed -n 's/^# limit: \([0-9]*\)$/\1/p' "tests/$1" |
		head -n 1) ;;
	esac
	echo "${limit:-$limit_default}"
}

# A fresh place for a suite; everything that our programs look up is private.
# Its path is short, because names of sockets have 108 bytes.
run_private() { # command...
	local dir=$tmp/s
	rm -rf "$dir"
	mkdir -p "$dir/odm" "$dir/run" "$dir/ofed" "$dir/t"
	env -u SMC_R -u LD_PRELOAD \
		SMC_R_CHECK="$token" SMC_R_TOP="$top" SMC_R_BUILD="$top/build" \
		PATH="$top/build/bin:$PATH" \
		ODMDIR="$dir/odm" SMC_R_RUNDIR="$dir/run" \
		SMC_R_LDPRELOAD_FILE="$dir/ld.so.preload" \
		OFED_CONF="$dir/ofed.conf" OFED_CORE_RUNDIR="$dir/ofed" \
		TMPDIR="$dir/t" LC_ALL=C.UTF-8 \
		ASAN_OPTIONS="detect_leaks=1:abort_on_error=0" \
		UBSAN_OPTIONS="print_stacktrace=1" \
		"$@"
}

run_suite() { # suite
	local suite=$1 file limit begin status what p f s
	# Its own until it is complete: another run may use the same tree.
	local log=$tmp/log
	current=$suite
	file=${suite//\//-}
	limit=$(limit_of "$suite")
	command_of "$suite"
	begin=$SECONDS
	run_private timeout -k 5 "$limit" \
		${own_bpf[@]+"${own_bpf[@]}"} "${argv[@]}" \
		>"$log" 2>&1 </dev/null &
	# In the background, so that a signal to this script is seen at once.
	wait $!
	status=$?
	if [ $status = 124 ] || [ $status = 137 ]; then
		echo "not ok - $suite: stopped after its time limit of" \
			"$limit seconds" >>"$log"
	fi
	what=$(end_leftovers)
	if [ -n "$what" ]; then
		printf 'not ok - %s left running:\n%s\n' "$suite" "$what" \
			>>"$log"
	fi
	read -r p f s <<<"$(count "$log" $status)"
	cp "$log" "$logs/$file.log"
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	printf '%-40s %4d passed' "$suite" "$p"
	[ "$f" = 0 ] || printf ', %d FAILED' "$f"
	[ "$s" = 0 ] || printf ', %d skipped' "$s"
	printf '  (%d s)\n' $((SECONDS - begin))
	if [ "$f" != 0 ]; then
		# Each failure with what the suite said about it.
		awk '/^not ok/ { show = 1 } /^ok/ { show = 0 }
			/^[^on#1 \t]/ { if (!/^TAP/) show_line = 1 }
			show || show_line { print "    " $0; show_line = 0 }' \
			"$log" | head -n 60
		printf '    (exit %d; all of it: build/check/%s.log)\n' \
			$status "$file"
	elif [ "$s" != 0 ]; then
		grep -i '^ok.*# skip' "$log" | sed 's/^/    /'
	fi
}

# A group's suites, one a line.
suites_of() { # argument
	local name
	case $1 in
	lint | */*)
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

# A function, so that the shell has read all of this file before it begins.
main() {
	local argument suite list
	[ $# != 0 ] || set -- unit unit-asan fuzz-asan cmd net preload oracle
	for argument in "$@"; do
		list=$(suites_of "$argument")
		for suite in $list; do
			run_suite "$suite"
		done
	done
	printf '%d passed, %d failed' $passed $failed
	[ $skipped = 0 ] || printf ', %d skipped' $skipped
	echo
	[ $failed = 0 ] && [ $((passed + failed)) -gt 0 ]
	exit
}

main "$@"
