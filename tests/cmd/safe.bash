# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# safe: directories that only this user and root can change, with all that are
# above them. ld.so.preload may name a library in such a one; /tmp is none.

# is_safe DIRECTORY
is_safe() {
	local dir
	dir=$(realpath "$1")
	while :; do
		case $(stat -c %u "$dir") in
		0 | "$(id -u)") ;;
		*) return 1 ;;
		esac
		[ -z "$(find "$dir" -maxdepth 0 -perm /022)" ] || return 1
		[ "$dir" != / ] || return 0
		dir=${dir%/*}
		dir=${dir:-/}
	done
}

need_safe() { # directory
	is_safe "$1" || skip "others may write to a directory above $1"
}

# A new one, in "safe", which the caller removes. For root it lies in the file
# system that tests/suite.sh mounts for the names of network namespaces.
make_safe() {
	local above=$SMC_R_BUILD
	[ "$(id -u)" != 0 ] || above=/run/netns
	mkdir -p "$above"
	need_safe "$above"
	safe=$(mktemp -d "$above/safe.XXXXXX")
	chmod 755 "$safe"
}
