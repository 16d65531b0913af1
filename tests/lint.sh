#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# lint: everything that can be said about the tree without running it. In TAP.
#
# usage: make lint            (sets the lists and builds what is looked at)
#        tests/lint.sh [check]...
#
# In a git checkout only the files that git knows are looked at.
set -u
cd "$(dirname "$0")/.." || exit 2
mkdir -p build/lint || exit 2

if git rev-parse --git-dir >/dev/null 2>&1; then
	files=$(git ls-files)
else
	files=$(find . -path ./build -prune -o -type f -printf '%P\n' | sort)
fi
# A file that was removed but not yet committed is no concern of ours.
files=$(for f in $files; do [ ! -e "$f" ] || echo "$f"; done)
matching() { printf '%s\n' "$files" | grep -E "$1"; }
c_files=$(matching '\.[ch]$')

tool() { # the versioned name if it is there
	if command -v "$1-14" >/dev/null; then echo "$1-14"; else echo "$1"; fi
}

# A process for many: each takes longer to start than to look at a file.
check_format() {
	# shellcheck disable=SC2086
	[ -z "$c_files" ] ||
		"$(tool clang-format)" --dry-run -Werror $c_files
}

# A second run looks at what changed: tidy.sh.
check_tidy() {
	${MAKE:-make} --no-print-directory -j"${JOBS:-2}" tidy
}

# alloca: exec* takes its words from the stack and must not allocate.
# ctuuninitvar: does not see what a system call writes.
check_cppcheck() {
	local list
	list=$(matching '^(attrdb|conf|smc_r|ofed_core|cmd|samples)/.*\.c$' |
		grep -v '\.bpf\.c$')
	mkdir -p build/lint/cppcheck
	# shellcheck disable=SC2086
	[ -z "$list" ] || cppcheck -q -j"${JOBS:-2}" --inline-suppr \
		--cppcheck-build-dir=build/lint/cppcheck --std=c11 -I. \
		-D_GNU_SOURCE -D__linux__ -D__x86_64__ --error-exitcode=1 \
		--enable=warning,performance,portability \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		--suppress=unknownMacro --suppress=allocaCalled \
		--suppress=ctuuninitvar $list
}

check_shell() {
	local f list=
	for f in $files; do
		case $f in
		*.sh | *.bats | *.bash | .ci/run) list="$list $f" ;;
		esac
	done
	# shellcheck disable=SC2086
	[ -z "$list" ] || shellcheck $list
}

check_python() {
	local list
	# shellcheck disable=SC2046
	list=$(matching '\.py$')$'\n'$(awk 'FNR > 1 { nextfile }
		/^#!.*python/ { print FILENAME }' $(matching '(^|/)[^.]+$'))
	# shellcheck disable=SC2086
	python3 -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name)' $list
}

check_man() {
	local list
	list=$(matching '^man/.*\.[1-9]$')
	# shellcheck disable=SC2086
	[ -z "$list" ] || mandoc -Tlint -Wwarning $list
}

# Each command has its page, and each page stands on the list.
check_pages() {
	local name bad=0
	for name in ${COMMANDS-}; do
		[ -e "man/$name.8" ] || { echo "$name: no man/$name.8"; bad=1; }
	done
	for name in $(matching '^man/.*\.[1-9]$'); do
		case " ${MAN-} " in
		*" ${name#man/} "*) ;;
		*) echo "$name: not on the list MAN of GNUmakefile"; bad=1 ;;
		esac
	done
	return $bad
}

# The manual lists every reason, with its number.
check_reasons() {
	local number name bad=0
	[ -e smc_r/protocol/reason.h ] || return 0
	while read -r number name; do
		grep -q "^\.It $number Dv " man/smc_r.7 ||
			{ echo "man/smc_r.7 lacks $name, $number"; bad=1; }
	done < <(sed -n 's/^\t\(REASON_[A-Z_0-9]*\) = \(0x[0-9A-F]*\),$/\2 \1/p' \
		smc_r/protocol/reason.h)
	return $bad
}

# What a document says between backticks.
quoted() {
	awk -F '\140' '{ for (i = 2; i < NF; i += 2) print $i }' | sort -u
}

# The names in the first column of a table of the index.
index_names() {
	awk -F '|' -v part="## $1" '/^## / { on = $0 == part }
		on && /^[|]/ { print $2 }' smc_r/INDEX.md | quoted
}

# What the engine mentions, comments left out; the link service is no part of
# it.
index_mentioned() {
	matching '^smc_r/.*\.c$' | grep -v '^smc_r/service/' | xargs cat |
		gcc -fpreprocessed -dD -E -P -x c - 2>/dev/null | grep -oE "$1" | sort -u
}

# The index of the engine has each exported name, each option and flag of the
# kernel that the code mentions, each word of state and each reason.
index_lacks() {
	local option='\b((SO|TCP|MSG|RWF|SPLICE_F)_|FIO|SIOC|EPOLL)[A-Z_0-9]+\b'
	matching '^smc_r/.*\.[ch]$' | xargs cat |
		sed -n 's/^#[ \t]*define[ \t]*\([A-Z_0-9]*\).*/\1/p' |
		sort -u >build/lint/index.ours
	{
		sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' smc_r/preload/preload.map
		index_mentioned "$option" | comm -23 - build/lint/index.ours
	} | sort -u | comm -23 - <(index_names 'Calls, options and flags')
	index_mentioned '\b(PHASE|STREAM|PRODUCER|CONSUMER)_[A-Z]+\b' |
		comm -23 - <(index_names States)
	sed -n 's/^\t\(REASON_[A-Z_0-9]*\) = .*/\1/p' smc_r/protocol/reason.h |
		sort -u | comm -23 - <(index_names Reasons)
}

# Files, functions, tests and names that documents speak of are there. A bare
# word in the index is a scenario of the oracle.
index_finds() { # name in the index
	local file=${1%%:*}
	case $1 in
	*:*) grep -qw "${1#*:}" "smc_r/$file" ;;
	*/*) [ -e "smc_r/$file" ] || [ -e "tests/$file" ] ;;
	*[A-Z]*) [ "${index_words[$1]-}" ] ;;
	*) [ -e "tests/oracle/scenarios/$1.txt" ] ;;
	esac
}

check_index() {
	local name path bad=0
	local -A index_words=()
	while read -r name; do
		index_words[$name]=1
	done < <(matching '^smc_r/.*\.([ch]|map)$' | xargs grep -ohE '\w+' |
		sort -u)
	for name in $(index_lacks); do
		echo "smc_r/INDEX.md lacks $name"
		bad=1
	done
	for name in $(grep '^|' smc_r/INDEX.md | cut -d '|' -f 3- | quoted) \
		$(index_names States) $(index_names Reasons); do
		index_finds "$name" || { echo "smc_r/INDEX.md: no $name"; bad=1; }
	done
	for name in $(index_names 'Calls, options and flags'); do
		[ "${index_words[$name]-}" ] ||
			{ echo "smc_r/INDEX.md: no $name"; bad=1; }
	done
	for name in $(quoted <ARCHITECTURE.md |
		grep -xE '[a-z_/]+\.[ch](:[a-z_0-9]+)?'); do
		path=$(matching "(^|/)${name%%:*}\$" | head -n 1)
		case $name in
		*:*) [ -n "$path" ] && grep -qw "${name#*:}" "$path" ;;
		*) [ -n "$path" ] ;;
		esac || { echo "ARCHITECTURE.md: no $name"; bad=1; }
	done
	return $bad
}

# A global name is defined once: the archives of the rooms are linked together,
# and the linker takes the first without a word. $INTERPOSERS are in no archive.
check_symbols() {
	local file twice
	twice=$(for file in ${ORDER-}; do
		case " ${INTERPOSERS-} " in
		*" $file "*) continue ;;
		esac
		[ ! -e "$OBJ/$file.o" ] || echo "$OBJ/$file.o"
	done | sort -u | xargs -r nm -A --defined-only -g -f posix |
		awk '$2 != "main" {
			sub(/:$/, "", $1)
			if ($2 in at)
				print $2 ": in " at[$2] " and in " $1
			at[$2] = $1
		}')
	[ -z "$twice" ] || { printf '%s\n' "$twice"; return 1; }
}

check_layers() {
	tests/layers.sh
}

# Every header compiles alone.
check_headers() {
	local header bad=0
	for header in $(matching '\.h$' | grep -v '\.bpf\.h$'); do
		# shellcheck disable=SC2086
		${CC:-gcc} $STD $WARN -Werror -fsyntax-only -x c \
			-include "$header" /dev/null || bad=1
	done
	return $bad
}

# What the preload library exports is what its map names, in both directions.
check_exports() {
	[ -e smc_r/preload/preload.map ] || return 0
	sed 's/#.*//; s,/\*.*\*/,,' smc_r/preload/preload.map | tr ';' '\n' |
		awk '/local:/ { exit }
			{ gsub(/.*[{:]|[ \t}]/, "") }
			/^[A-Za-z_]/' | sort -u >build/lint/exports.map
	nm -D --defined-only -f posix build/lib/libsmc_r.so |
		sed 's/[ @].*//' | sort -u >build/lint/exports.so
	diff build/lint/exports.map build/lint/exports.so
}

# The library needs libc and the loader, and its thread-local block is small
# enough for the static space that the loader gives to libraries.
check_library() {
	local needed bytes
	[ -e build/lib/libsmc_r.so ] || return 0
	needed=$(readelf -d build/lib/libsmc_r.so |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE '^(libc\.so\.6|ld-linux.*)$')
	if [ -n "$needed" ]; then
		echo "libsmc_r.so needs more than libc:" "$needed"
		return 1
	fi
	bytes=$(readelf -lW build/lib/libsmc_r.so | awk '$1 == "TLS" { print $6 }')
	if [ $((${bytes:-0})) -gt 512 ]; then
		echo "libsmc_r.so has $((bytes)) bytes of thread-local data (512)"
		return 1
	fi
}

# Line 1 (line 2 after #! or a man page's or markup's opening) says the licence.
check_spdx() {
	local list
	# Debian says what stands in its files; a module of the kernel has its
	# licence.
	list=$(printf '%s\n' "$files" | grep -vxE \
		-e 'LICENSE|LICENSES/.*|.*\.(expected|pcap|svg|png|json)' \
		-e '(.*/)?(corpus|data|scenarios)/.*' \
		-e 'debian/(changelog|compat|copyright|source/format)' \
		-e 'tests/kernel/rxe_smc\.c')
	# shellcheck disable=SC2086
	awk -v wanted='SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only' '
		BEGIN {
			for (i = 1; i < ARGC; i++)
				lacks[ARGV[i]]
		}
		FNR > 2 { nextfile }
		index($0, wanted) { delete lacks[FILENAME] }
		END {
			for (f in lacks) {
				print f ": no SPDX line"
				bad = 1
			}
			exit bad
		}' $list
}

check_size() {
	local f n bad=0
	while read -r n f; do
		[ "$f" = total ] || [ "$n" -le 800 ] ||
			{ echo "$f: $n lines, more than 800"; bad=1; }
	done < <(matching '\.([ch]|sh|bats|py)$' | xargs wc -l)
	for f in $(matching '^PERFORMANCE\.md$'); do
		n=$(wc -c <"$f")
		[ "$n" -le 12288 ] || { echo "$f: $n bytes, more than 12288"; bad=1; }
	done
	return $bad
}

# Words of unfinished work, and trailing blanks.
check_words() {
	local list bad=0
	list=$(matching '\.([ch]|sh|bats|py|md|[1-9])$')
	# shellcheck disable=SC2086
	[ -n "$list" ] || return 0
	# shellcheck disable=SC2086
	grep -nE '\b(TO''DO|FIX''ME|X''XX)\b' $list && bad=1
	# shellcheck disable=SC2086
	grep -nE '[[:blank:]]+$' $list && bad=1
	return $bad
}

# A comment is a sentence: comments.awk says what it must not begin with.
check_comments() {
	local list
	list=$(matching '\.([ch]|sh|bats|bash|py|awk|sed)$|^GNUmakefile$|/scenarios/')
	# shellcheck disable=SC2086
	[ -z "$list" ] || awk -f tests/comments.awk $list
}

[ $# != 0 ] || set -- format layers symbols headers exports library spdx size words \
	comments shell python man pages reasons index cppcheck tidy
failed=0
echo "1..$#"
for check in "$@"; do
	if "check_$check" >"build/lint/$check.log" 2>&1; then
		echo "ok - $check"
	else
		echo "not ok - $check"
		sed 's/^/# /' "build/lint/$check.log" | head -n 100
		failed=$((failed + 1))
	fi
done
echo "# lint: $(($# - failed)) passed, $failed failed"
[ $failed = 0 ]
