#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# layers: check that the tree keeps the law of its rooms.
#
# $ORDER (from GNUmakefile) names every source file, lowest first, as room/name
# or room/folder/name. Folders stand in the order of their first files. $PURE
# names those that must not know time, threads, descriptors or the heap.
#   1. A room includes only the rooms that it may use (the table below).
#   2. An include never points to a folder that stands later in $ORDER; inside
#      a folder, never to a file that stands later. One noun may have several
#      .c files behind one header (clc.h: clc.c, clc_step.c), so inside a folder
#      among files whose names begin with the same word only headers count.
#   3. Every .c file of a room stands in $ORDER.
#   4. A pure file calls nothing that reaches outside its arguments; its object
#      under $OBJ tells.
#   5. In rooms that have folders the same holds for calls, that is, for names
#      that an object needs and another one of the room defines: none points to
#      a later folder, and inside a folder only files whose names begin with the
#      same word call a later one.
#   6. Files that call each other in a circle are at most six (table below).
#   7. The fields of a struct that is part of another one are named, as
#      ->PART.FIELD, only in the files and folders of its room that "Fields:" in
#      the comment ahead of it lists. The part has the name of a member.
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
# folder: how many files may be in one circle, where it is not six.
circles='
smc_r/epoll: 11
'
# file: those of its room that it includes or calls against the law. To be
# mended; one that is not needed is a breach.
known='
'
rooms='attrdb conf smc_r ofed_core cmd samples'
bad=0
breach() {
	printf '%s\n' "$*"
	bad=1
}
seen=$(mktemp) || exit 2
trap 'rm -f "$seen"' EXIT

# What both checks ask. A file is named without suffix.
# shellcheck disable=SC2016 # awk's
common='
	function folder_of(file) {
		sub(/\/[^\/]*$/, "", file)
		return file
	}
	function room_of(file) {
		sub(/\/.*/, "", file)
		return file
	}
	function noun_of(file) {
		sub(/.*\//, "", file)
		sub(/_.*/, "", file)
		return file
	}
	# Whether a file may not use another one of the same folder or of a
	# folder that stands elsewhere.
	function climbs(from, to, one_noun) {
		if (folder_of(from) != folder_of(to))
			return place[folder_of(to)] > place[folder_of(from)]
		return !(one_noun && noun_of(from) == noun_of(to)) &&
			(from in rank) && (to in rank) && rank[to] > rank[from]
	}
	# Whether the list of what is to be mended has it; notes that it was
	# needed.
	function is_known(from, to) {
		if (!((from, to) in mend))
			return 0
		print from " " to >>seen
		return 1
	}
	BEGIN {
		n = split(order, name, " ")
		for (i = 1; i <= n; i++) {
			if (!(name[i] in rank))
				rank[name[i]] = i
			if (!(folder_of(name[i]) in place))
				place[folder_of(name[i])] = i
		}
		n = split(known, line, "\n")
		for (i = 1; i <= n; i++) {
			m = split(line[i], word, /[: ]+/)
			for (w = 2; w <= m; w++)
				mend[word[1], room_of(word[1]) "/" word[w]] = 1
		}
	}'

# shellcheck disable=SC2086,SC2016
find $rooms -name '*.[ch]' -exec \
	grep -Hno '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*"[^"]*"' {} + |
	sort -t: -k1,1 -k2,2n |
	awk -v order="$ORDER" -v known="$known" -v seen="$seen" \
		-v allowed="$allowed" -v engine="${CONF_ENGINE-}" \
		-v tools="${SMC_R_TOOLS-}" "$common"'
	BEGIN {
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
		split($0, at, ":")
		where = at[1] ":" at[2]
		from = at[1]
		sub(/\.[ch]$/, "", from)
		to = quoted[2]
		sub(/\.h$/, "", to)
		own = room_of(from)
		# Within a room without folders the bare name is written.
		if (!index(to, "/")) {
			if (folder_of(from) != own) {
				print where ": " to ".h is named from the top"
				bad = 1
			}
			to = folder_of(from) "/" to
		}
		room = room_of(to)
		if (room == "conf" && own == "smc_r" && (to in shared))
			room = "conf_engine"
		if (room == "smc_r" && own == "cmd" && (to in shared))
			room = "smc_r_tools"
		if (!((own, room) in may)) {
			print where ": room " own " may not use " to
			bad = 1
		} else if (!(folder_of(to) in place)) {
			print where ": " folder_of(to) " stands on no list"
			bad = 1
		} else if (climbs(from, to, at[1] ~ /c$/) &&
			   !is_known(from, to)) {
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
# shellcheck disable=SC2086
for file in $(find $rooms -name '*.c' | sort); do
	case " $ORDER " in
	*" ${file%.c} "*) ;;
	*)
		! known "$file" ||
			breach "$file: stands on no list of GNUmakefile"
		;;
	esac
done

# What the compiler and the sanitizers' checks put in, strings and memory.
harmless='^(mem(cpy|move|set|cmp|chr)|bcmp|__mem(cpy|move|set)_chk|str[a-z]*'
harmless="$harmless|__str[a-z]*_chk|v?snprintf|__v?snprintf_chk"
harmless="$harmless|__stack_chk_fail|__assert_fail|__ctype_b_loc|qsort|bsearch"
harmless="$harmless|__isoc99_sscanf|_GLOBAL_OFFSET_TABLE_)\$"
# The objects of files, in $objects.
objects_of() {
	objects=
	for file in "$@"; do
		if [ -e "$OBJ/$file.o" ]; then
			objects="$objects $OBJ/$file.o"
		else
			breach "$file: no object to look at"
		fi
	done
}
# shellcheck disable=SC2086
objects_of ${PURE-}
# shellcheck disable=SC2086
[ -z "$objects" ] || nm -A -f posix $objects |
	awk -v harmless="$harmless" -v prefix="$OBJ/" '
	$3 !~ /^[Uwv]$/ {
		own[$2] = 1
		next
	}
	$2 !~ harmless {
		needs[$1, $2] = 1
	}
	END {
		for (need in needs) {
			split(need, at, SUBSEP)
			if (at[2] in own)
				continue
			file = substr(at[1], length(prefix) + 1)
			sub(/\.o:$/, "", file)
			print file ": is on the list of pure files but uses " at[2]
			bad = 1
		}
		exit bad
	}' || bad=1

# Calls. The names that $LIBRARIES export (preload.map and the shim) are libc's
# for all others.
# shellcheck disable=SC2086
libc=$([ -z "${LIBRARIES-}" ] ||
	nm -D --defined-only -f posix $LIBRARIES | sed 's/[ @].*//')
files=
for file in $ORDER; do
	case $file in
	*.bpf) ;;
	smc_r/*/* | ofed_core/*/*) files="$files $file" ;;
	esac
done
# shellcheck disable=SC2086
objects_of $files
# shellcheck disable=SC2086,SC2016
[ -z "$objects" ] || nm -A -g -f posix $objects |
	awk -v order="$ORDER" -v known="$known" -v seen="$seen" \
		-v circles="$circles" -v libc="$libc" -v prefix="$OBJ/" \
		"$common"'
	BEGIN {
		n = split(libc, name, /[ \n]+/)
		for (i = 1; i <= n; i++)
			theirs[name[i]] = 1
		n = split(circles, line, "\n")
		for (i = 1; i <= n; i++) {
			split(line[i], word, /[: ]+/)
			most[word[1]] = word[2]
		}
	}
	# Every file that one file reaches, in reached.
	function reach(file, calls, todo, k, i, n) {
		split("", reached)
		todo[n = 1] = file
		while (n > 0) {
			file = todo[n--]
			for (i = 1; i <= calls[file]; i++) {
				k = calls[file, i]
				if (!(k in reached)) {
					reached[k] = 1
					todo[++n] = k
				}
			}
		}
	}
	{
		file = substr($1, length(prefix) + 1)
		sub(/\.o:$/, "", file)
		if ($2 in theirs)
			next
		if ($3 != "U") {
			defines[room_of(file), $2] = file
		} else {
			need[++needs] = file
			symbol[needs] = $2
		}
	}
	END {
		for (i = 1; i <= needs; i++) {
			from = need[i]
			if (!((room_of(from), symbol[i]) in defines))
				continue
			to = defines[room_of(from), symbol[i]]
			if (from == to || ((from, to, symbol[i]) in told))
				continue
			told[from, to, symbol[i]] = 1
			if (climbs(from, to, 1)) {
				if (is_known(from, to))
					continue
				print from ": calls " symbol[i] "() of " to
				bad = 1
				continue
			}
			if ((from, to) in arrow)
				continue
			arrow[from, to] = 1
			calls[from, ++calls[from]] = to
			calls[to] += 0
		}
		# Files in one circle reach each other.
		for (file in calls) {
			if (index(file, SUBSEP))
				continue
			reach(file, calls)
			if (!(file in reached))
				continue
			turns[++round] = file
			for (k in reached)
				reaches[file, k] = 1
		}
		for (i = 1; i <= round; i++) {
			file = turns[i]
			if (file in counted)
				continue
			size = 0
			names = ""
			for (j = 1; j <= round; j++) {
				k = turns[j]
				if (!((file, k) in reaches) ||
				    !((k, file) in reaches))
					continue
				counted[k] = 1
				size++
				names = names " " k
			}
			limit = most[folder_of(file)]
			if (size > (limit ? limit : 6)) {
				print "a circle of " size " files:" names
				bad = 1
			}
		}
		exit bad
	}' || bad=1

# Parts: the room of each, its name, its fields, and who may name them.
# shellcheck disable=SC2086,SC2016
find $rooms -name '*.h' -exec awk '
	/^ \* Fields:/ {
		listing = 1
		list = ""
		sub(/Fields:/, "")
	}
	listing {
		listing = !/\*\//
		gsub(/\*\/|^ \*/, "")
		list = list " " $0
	}
	/^struct [a-z_]+ \{$/ && list != "" {
		part = $2
		may[part] = list
		list = ""
	}
	/^\}/ { part = "" }
	part != "" && match($0, /[a-z_]+;/) {
		fields[part] = fields[part] "|" substr($0, RSTART, RLENGTH - 1)
	}
	/^\tstruct [a-z_]+ [a-z_]+;/ && ($2 in may) {
		room = FILENAME
		sub(/\/.*/, "", room)
		sub(/;.*/, "", $3)
		print room, $3, substr(fields[$2], 2), may[$2]
	}' {} + |
	while read -r room part fields may; do
		grep -rnoE --include='*.[ch]' -e "->$part\.($fields)\>" "$room" |
			while IFS= read -r use; do
				for name in $may; do
					case $use in
					"$room/$name"*) continue 2 ;;
					esac
				done
				printf '%s\n' "$use: is not for this file"
			done
	done | grep . && bad=1

# What is known and was not met.
unmet=$(printf '%s\n' "$known" | awk -v seen="$seen" '
	BEGIN {
		while ((getline line <seen) > 0)
			met[line] = 1
	}
	{
		n = split($0, word, /[: ]+/)
		room = word[1]
		sub(/\/.*/, "/", room)
		for (i = 2; i <= n; i++)
			if (!((word[1] " " room word[i]) in met))
				print word[1] ": does not use " room word[i]
	}')
[ -z "$unmet" ] || breach "$unmet"
exit $bad
