#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# duel: games of the program duel on plain TCP and under the library, whose logs
# must be equal. A game that plain TCP itself plays in two ways is none. Both
# are compared within the table DIFFERENCES FROM TCP of smc_r(7): what it lists
# is no fault, and moves keep clear of it where they can.
#
# usage: tests/oracle/duel.sh [-n SEEDS] [-s FIRST] [-m MODES] [-l MOVES]
#	     [-j JOBS] [SEED|SEED:MOVE,MOVE...]...
#
#   -n SEEDS   that many seeds (0), from seed FIRST (1)
#   -m MODES   which sides have the library: both,A,B, and "one", where one
#              thread is both sides (all four)
#   -l MOVES   moves of a game (60)
#   -j JOBS    so many games at once (1)
#
# With DUEL_WARM in the environment clients may knock (duel.c). Seeds from 1000000
# on know more moves, from 2000000 on more again, from 4000000 on all.
#
# What is different is made as short as it gets, and printed. With "SEED:MOVE,..."
# only those moves are made. Exit: 0 equal, 1 different, 2 cannot run.
set -u
# shellcheck source=/dev/null
. "$(dirname "$0")/begin.bash"
# shellcheck disable=SC2154 # set there
: "${build-}" "${wrapper-}"
duel=$build/obj/plain/tests/oracle/duel
limit=60

seeds=0 first=1 modes=both,A,B,one moves=60 jobs=1
while getopts n:s:m:l:j: option; do
	case $option in
	n) seeds=$OPTARG ;;
	s) first=$OPTARG ;;
	m) modes=$OPTARG ;;
	l) moves=$OPTARG ;;
	j) jobs=$OPTARG ;;
	*)
		sed -n 's/^# usage: /usage: /p; s/^#\t/       /p' "$0" >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
need_program "$duel"
need_device
logs=$(mktemp -d "${TMPDIR:-/tmp}/duel.XXXXXX") || exit 2
trap 'rm -rf "$logs"' EXIT

# Plays a game, without the library or with it.
play() { # seed, moves made or "", mode, "plain" or "smc"
	local a='' b='' one=()

	case $3 in
	both) a=$wrapper b=$wrapper ;;
	A) a=$wrapper ;;
	B) b=$wrapper ;;
	one) a=$wrapper one=(-1) ;;
	esac
	[ "$4" = smc ] || a='' b=''
	timeout -k 5 $limit "$duel" -A "$a" -B "$b" ${one[@]+"${one[@]}"} \
		-n "$moves" ${2:+-o "$2"} "$1" 2>&1 ||
		echo "# broke off: exit $?"
}

# Plain TCP says one thing, before and after, and the library, twice, another.
differs() { # seed, moves made, mode, place
	play "$1" "$2" "$3" plain >"$4/plain"
	grep -q '^# end' "$4/plain" && ! grep -q '^# side' "$4/plain" || return 1
	play "$1" "$2" "$3" smc >"$4/smc"
	! cmp -s "$4/plain" "$4/smc" || return 1
	play "$1" "$2" "$3" smc >"$4/smc"
	! cmp -s "$4/plain" "$4/smc" || return 1
	play "$1" "$2" "$3" plain >"$4/again"
	cmp -s "$4/plain" "$4/again"
}

# Leaves out halves, quarters, and so on, of the moves.
shorten() { # seed, moves made, mode, place: prints the moves that are left
	local all size i rest

	IFS=, read -ra all <<<"$2"
	for ((size = (${#all[@]} + 1) / 2; size > 0; size /= 2)); do
		for ((i = 0; i < ${#all[@]}; )); do
			rest=("${all[@]:0:i}" "${all[@]:i+size}")
			if [ ${#rest[@]} != 0 ] &&
				differs "$1" "$(IFS=, && echo "${rest[*]}")" \
					"$3" "$4"; then
				all=("${rest[@]}")
			else
				i=$((i + size))
			fi
		done
	done
	(IFS=, && echo "${all[*]}")
}

game() { # seed or seed:moves, mode, place
	local seed=${1%%:*} made=''

	mkdir -p "$3"
	[ "$1" = "$seed" ] || made=${1#*:}
	differs "$seed" "$made" "$2" "$3" || return 0
	made=$(shorten "$seed" "${made:-$(seq -s, 0 $((moves - 1)))}" "$2" "$3")
	echo 1 >"$3/different"
	differs "$seed" "$made" "$2" "$3"
	echo "DIFFERENT: $seed:$made, library in $2"
	diff -U 12 "$3/plain" "$3/smc" | tail -n +4
	echo "  again: tests/oracle/duel.sh -l $moves -m $2 $seed:$made"
}

games=("$@")
for ((seed = first; seed < first + seeds; seed++)); do
	games+=("$seed")
done
[ ${#games[@]} != 0 ] || exit 2
count=0
for game in "${games[@]}"; do
	for mode in ${modes//,/ }; do
		[ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
		{
			said=$(game "$game" "$mode" "$logs/$count")
			[ -z "$said" ] || echo "$said"
		} &
		count=$((count + 1))
	done
done
wait
different=$(cat "$logs"/*/different 2>/dev/null | wc -l)
echo "$count games, $different different"
[ "$different" = 0 ]
