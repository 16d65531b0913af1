# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# begin: what oracle.sh and duel.sh need before anything is played.

# shellcheck disable=SC2034 # for the scripts
here=$(cd "$(dirname "$0")" && pwd) || exit 2
build=${SMC_R_BUILD:-$(cd "$here/../.." && pwd)/build}
wrapper=${SMC_RUN:-smc_run}
export PATH=$build/bin:$PATH

refuse() { # why
	echo "${0##*/}: $1" >&2
	exit 2
}

need_program() { # path
	[ -x "$1" ] || refuse "$1 is not built: make tests"
}

# Without a device all would be plain TCP, and equal.
need_device() {
	[ "$(lsattr -E -l smc_r0 -a enabled -F value 2>/dev/null)" = 1 ] ||
		refuse "smc_r0 is not there, or not enabled: mkdev, chdev"
}
