#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ofed_run: run a program whose RDMA devices include those of ofed_core.
#
# Usage: ofed_run PROGRAM [ARGUMENT]...
# The shim library is looked for in $OFED_CORE_LIB, beside the directory of
# this script (../lib), and in ../lib/smc_r. Programs run without the core
# loaded see only the kernel's devices.
set -u

usage() {
	echo "usage: ofed_run PROGRAM [ARGUMENT]..."
}

case ${1-} in
-h | --help)
	usage
	exit
	;;
--version)
	echo "ofed_run (smc_r) @VERSION@"
	exit
	;;
--) shift ;;
-*)
	echo "ofed_run: invalid option -- '$1'" >&2
	usage >&2
	exit 2
	;;
esac
if [ $# -eq 0 ]; then
	echo "ofed_run: which program?" >&2
	usage >&2
	exit 2
fi

here=$(dirname -- "$(readlink -f -- "$0")")
for library in "${OFED_CORE_LIB-}" "$here/../lib/libofed_core.so" \
	"$here/../lib/smc_r/libofed_core.so"; do
	[ -n "$library" ] && [ -r "$library" ] && break
	library=
done
if [ -z "$library" ]; then
	echo "ofed_run: libofed_core.so not found; set OFED_CORE_LIB" >&2
	exit 1
fi
library=$(readlink -f -- "$library")

# The shim comes first in the chain, beside whatever else is loaded.
case ":${LD_PRELOAD-}:" in
*":$library:"*) ;;
*) LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}" ;;
esac
export LD_PRELOAD
exec "$@"
