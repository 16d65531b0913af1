#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# tidy: clang-tidy on the files that changed since it last had nothing to say.
#
# usage: make tidy            (sets $OBJ, $CHECKS, $FLAGS, $CLANG_TIDY, $JOBS)
#        tests/tidy.sh NAME... (of files, without .c)
#
# An object is newer than its source and all headers of it, so its stamp in
# build/lint is too. Several files share a process, which takes as long to start
# as to look at one.
set -u

is_fresh() { # name
	[ "build/lint/$1.tidy" -nt "$OBJ/$1.o" ] &&
		[ "build/lint/$1.tidy" -nt .clang-tidy ]
}

look_at() { # names...
	local name
	# shellcheck disable=SC2086 # a list
	"$CLANG_TIDY" --quiet --checks="$CHECKS" "${@/%/.c}" -- $FLAGS \
		2> >(sed '/warnings* generated/d' >&2) || return 1
	for name; do
		mkdir -p "build/lint/${name%/*}"
		touch "build/lint/$name.tidy"
	done
}

# What it finds counts when it finds it in a file alone: in the second file of a
# process each va_list is new to the analyzer of clang 14.
look_at_many() { # names...
	local name bad=0
	! look_at "$@" >/dev/null 2>&1 || return 0
	for name; do
		look_at "$name" || bad=1
	done
	return $bad
}

if [ "${1-}" = --batch ]; then
	shift
	look_at_many "$@"
	exit
fi
for name; do
	is_fresh "$name" || echo "$name"
done | xargs -r -n 12 -P "${JOBS:-2}" "$0" --batch
