#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# layers: check that the tree keeps the law of its rooms.
#
# $ORDER (from GNUmakefile) names every source file, lowest first, as
# room/name. $PURE names those that must not know time, threads, descriptors
# or the heap.
#   1. A room includes only the rooms that it may use (the table below).
#   2. An include never points to a file that stands later in $ORDER. One noun
#      may have several .c files behind one header (clc.h: clc.c, clc_step.c),
#      so among files whose names begin with the same word only headers count.
#   3. Every .c file of a room stands in $ORDER.
#   4. A pure file calls nothing that reaches outside its arguments; its object
#      under $OBJ tells.
# Prints one line for each breach; exits 1 if there was any.
set -u
cd "$(dirname "$0")/.." || exit 2
: "${ORDER:?names the source files; run 'make layers'}"

# room: the rooms whose headers it may include. "conf_engine" stands for those
# files of conf that the engine takes along ($CONF_ENGINE), "smc_r_tools" for
# those of smc_r that commands link ($SMC_R_TOOLS).
allowed='
attrdb:
conf: attrdb
smc_r: conf_engine
ofed_core:
cmd: attrdb conf smc_r_tools ofed_core
samples:
'
bad=0
breach() {
	printf '%s\n' "$*"
	bad=1
}

grep -Hno '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*"[^"]*"' \
	attrdb/*.[ch] conf/*.[ch] smc_r/*.[ch] smc_r/*/*.[ch] ofed_core/*.[ch] \
	ofed_core/*/*.[ch] cmd/*.[ch] samples/*.[ch] 2>/dev/null |
	awk -v order="$ORDER" -v allowed="$allowed" \
		-v engine="${CONF_ENGINE-}" -v tools="${SMC_R_TOOLS-}" '
	BEGIN {
		n = split(order, name, " ")
		for (i = 1; i <= n; i++)
			if (!(name[i] in rank))
				rank[name[i]] = i
		n = split(engine, name, " ")
		for (i = 1; i <= n; i++)
			shared["conf/" name[i]] = 1
		n = split(tools, name, " ")
		for (i = 1; i <= n; i++)
			shared["smc_r/" name[i]] = 1
		n = split(allowed, line, "\n")
		for (i = 1; i <= n; i++) {
			m = split(line[i], word, /[: ]+/)
			may[word[1], word[1]] = 1
			for (w = 2; w <= m; w++)
				may[word[1], word[w]] = 1
		}
	}
	{
		split($0, quoted, "\"")
		split($0, place, ":")
		from = place[1]
		sub(/\.[ch]$/, "", from)
		to = quoted[2]
		sub(/\.h$/, "", to)
		split(from, f, "/")
		# Within a room the bare name is written.
		if (!index(to, "/"))
			to = f[1] "/" to
		split(to, t, "/")
		room = t[1]
		noun = f[2]
		sub(/_.*/, "", noun)
		inside = f[1] == room && place[1] ~ /c$/ &&
			(t[2] == noun || index(t[2], noun "_") == 1)
		if (room == "conf" && f[1] == "smc_r" && (to in shared))
			room = "conf_engine"
		if (room == "smc_r" && f[1] == "cmd" && (to in shared))
			room = "smc_r_tools"
		where = place[1] ":" place[2]
		if (!((f[1], room) in may)) {
			print where ": room " f[1] " may not use " to
			bad = 1
		} else if (!inside && (from in rank) && (to in rank) &&
			   rank[to] > rank[from]) {
			print where ": " from " stands below " to
			bad = 1
		}
	}
	END { exit bad }' || bad=1

# In a git checkout only files that git knows count.
known() {
	! git rev-parse --git-dir >/dev/null 2>&1 ||
		git ls-files --error-unmatch "$1" >/dev/null 2>&1
}
for file in attrdb/*.c conf/*.c smc_r/*.c ofed_core/*.c cmd/*.c samples/*.c; do
	[ -e "$file" ] || continue
	case " $ORDER " in
	*" ${file%.c} "*) ;;
	*)
		! known "$file" ||
			breach "$file: stands on no list of GNUmakefile"
		;;
	esac
done

# What the compiler and the sanitizers' checks put in, strings and memory.
harmless='^(mem(cpy|move|set|cmp|chr)|__mem(cpy|move|set)_chk|str[a-z]*'
harmless="$harmless|__str[a-z]*_chk|v?snprintf|__v?snprintf_chk"
harmless="$harmless|__stack_chk_fail|__assert_fail|__ctype_b_loc|qsort|bsearch"
harmless="$harmless|__isoc99_sscanf|_GLOBAL_OFFSET_TABLE_)\$"
own=$(for file in ${PURE-}; do
	[ ! -e "$OBJ/$file.o" ] ||
		nm --defined-only -f posix "$OBJ/$file.o" | cut -d' ' -f1
done)
for file in ${PURE-}; do
	if [ ! -e "$OBJ/$file.o" ]; then
		breach "$file: no object to look at"
		continue
	fi
	for symbol in $(nm -u -f posix "$OBJ/$file.o" | cut -d' ' -f1 |
		grep -Ev "$harmless"); do
		printf '%s\n' "$own" | grep -qx -- "$symbol" ||
			breach "$file: is on the list of pure files but uses $symbol"
	done
done
exit $bad
