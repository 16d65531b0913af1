#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# own_etc: runs a command with an /etc of its own, in a mount namespace of its
# own, so that the host has nothing of what it writes there.
#
# usage: tests/preload/own_etc.sh PLACE COMMAND [ARGUMENT]...	(as root)
#
# PLACE/etc holds what is written. Exit 77: there is no overlay file system.
set -u

if [ -z "${OWN_ETC_INSIDE-}" ]; then
	OWN_ETC_INSIDE=1 exec unshare -m --propagation private "$0" "$@"
fi
unset OWN_ETC_INSIDE
place=$1
shift
mkdir -p "$place/etc" || exit 2
mount -t tmpfs tmpfs "$place/etc" &&
	mkdir "$place/etc/upper" "$place/etc/work" &&
	mount -t overlay overlay -o "lowerdir=/etc,upperdir=$place/etc/upper,$(
		)workdir=$place/etc/work" /etc || exit 77
exec "$@"
