#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# stock_tool: the tool of rdma-core whose name this file has, with the devices
# of the RDMA core. It runs as it is where the shim is there already, or where the
# kernel has devices and no core is loaded.
set -u

own=$(readlink -f -- "$0")
here=$(dirname -- "$own")
name=$(basename -- "$0")

is_ours() { # file
	head -n 3 -- "$1" | grep -aq '^# stock_tool:'
}

usage() {
	case $name in
	rping)
		printf '%s\n%s\n' \
			"Usage: rping -s [-vVdP] [-a address] [-p port] [-C count] [-S size]" \
			"       rping -c [-vVd] -a address [-p port] [-C count] [-S size]"
		;;
	*) echo "Usage: $name" ;;
	esac
}

case $* in
-h)
	usage
	exit
	;;
--version)
	echo "$name (smc_r) @VERSION@"
	exit
	;;
esac

# The first of that name on PATH that is not one of these.
find_stock() {
	local_ifs=$IFS
	IFS=:
	for directory in ${PATH-} /usr/bin /bin; do
		stock=${directory:-.}/$name
		if [ -f "$stock" ] && [ -x "$stock" ] && ! is_ours "$stock"; then
			IFS=$local_ifs
			return
		fi
	done
	IFS=$local_ifs
	false
}

if ! find_stock; then
	case $name in
	rping) package=rdmacm-utils ;;
	*) package=ibverbs-utils ;;
	esac
	echo "$name: the $name of rdma-core is missing (on Debian: package" \
		"$package)" >&2
	exit 127
fi
case ${LD_PRELOAD-} in
*libofed_core.so*) exec "$stock" "$@" ;;
esac
case $("$here/ofedctrl" -q 2>/dev/null) in
*": loaded"*) exec "$here/ofed_run" "$stock" "$@" ;;
esac
if [ ! -e /sys/class/infiniband ]; then
	echo "$name: there is no RDMA device; ofedctrl -l loads the RDMA core" >&2
	exit 1
fi
exec "$stock" "$@"
