#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dat_conf: the lines of dat.conf that make the devices of the RDMA core
# interface adapters of uDAPL.
#
# The provider library is looked for beside the directory of this script (../lib)
# and in ../lib/smc_r.
set -u

usage() {
	echo "usage: dat_conf [-a | -r] [-f file]"
}

fail() {
	echo "dat_conf: $*" >&2
	exit 1
}

if [ "$*" = --version ]; then
	echo "dat_conf (smc_r) @VERSION@"
	exit
fi

action=print
file=${DAT_OVERRIDE:-/etc/dat.conf}
while getopts :arf:h option; do
	case $option in
	a) action=add ;;
	r) action=remove ;;
	f) file=$OPTARG ;;
	h)
		usage
		exit
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
done
[ $OPTIND -gt $# ] || {
	usage >&2
	exit 2
}

name=libdaplofed_core.so
here=$(dirname -- "$(readlink -f -- "$0")")

# The devices of this network namespace's core, and their interfaces.
print_lines() {
	local base=${OFED_CORE_RUNDIR:-/run/ofed_core} library device tree
	for library in "$here/../lib/$name" "$here/../lib/smc_r/$name"; do
		[ -r "$library" ] && break
		library=
	done
	[ -n "$library" ] ||
		fail "$name is not part of this installation; it needs libdapl-dev" \
			"to be built"
	library=$(readlink -f -- "$library")
	case $library in
	*[[:space:]]*) fail "$library: dat.conf takes no blanks in a path" ;;
	esac
	tree=$base/net-$(stat -Lc %i /proc/self/ns/net)/sysfs/class/infiniband
	[ -d "$tree" ] || fail "ofed_core is not loaded; load it with ofedctrl -l"
	for device in "$tree"/*; do
		# Those of the kernel have lines of their own.
		[ "$(cat "$device/hca_type" 2>/dev/null)" = ofed_core ] || continue
		printf '%s u2.0 nonthreadsafe default %s ofed.1.0 "%s 0" ""\n' \
			"${device##*/}" "$library" "$(cat "$device/parent")"
	done
}

# The file without our lines, and behind it what is to be added.
rewrite() { # lines
	local new=$file.new
	[ -e "$file" ] || : >"$file" || fail "$file cannot be made"
	cp -p -- "$file" "$new" || fail "$new cannot be written"
	{
		grep -v "/$name " -- "$file"
		[ -z "$1" ] || printf '%s\n' "$1"
	} >"$new" && mv -f -- "$new" "$file" || {
		rm -f -- "$new"
		fail "$file cannot be written; nothing was changed"
	}
}

case $action in
print) print_lines ;;
add)
	lines=$(print_lines) || exit 1
	rewrite "$lines"
	;;
remove) [ ! -e "$file" ] || rewrite "" ;;
esac
