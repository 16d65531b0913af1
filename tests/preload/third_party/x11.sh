# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# x11: an X server that listens on TCP, xdpyinfo and xwininfo
# programs: X11 over TCP
# needs: Xvfb xdpyinfo xwininfo
# length: long
# gets: smc=2
# X servers listen on 6000 and above only, so on a display of its own.
stranger() {
	local n=$((RANDOM % 900 + 4000))
	serve server Xvfb ":$n" -screen 0 640x480x24 -listen tcp -nolisten unix -nolisten local -ac
	await_port $((6000 + n))
	ask xdpyinfo -display "127.0.0.1:$n" | grep -e dimensions -e 'number of ext' -e 'vendor string'
	ask xwininfo -display "127.0.0.1:$n" -root | grep geometry
}
