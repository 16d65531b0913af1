# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# ofed_core.sh: every login shell, and what it starts, sees the devices of the
# RDMA core (ofed_run(8)). It is off until it is linked into /etc/profile.d.
if [ -r "@LIBDIR@/libofed_core.so" ]; then
	case ":${LD_PRELOAD-}:" in
	*":@LIBDIR@/libofed_core.so:"*) ;;
	*)
		LD_PRELOAD="@LIBDIR@/libofed_core.so${LD_PRELOAD:+:$LD_PRELOAD}"
		export LD_PRELOAD
		;;
	esac
fi
