#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# far_idle: two programs beside many idle connections between two hosts
# (tests/rc/hosts.bash): qperf's latency of 64 bytes and its rate of 64 KiB, with
# and without them, in turn; and the wake-ups of both link services in 10 s. All
# rings have 256 KiB: less than an eighth of max_memory is in use.
#
# usage: tests/bench/far_idle.sh [rounds [idle connections]]
set -e
BATS_TEST_DIRNAME=$(readlink -f "$(dirname "$0")/../rc")
SMC_R_BUILD=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}
# shellcheck source=tests/rc/hosts.bash
. "$BATS_TEST_DIRNAME/hosts.bash"
# shellcheck disable=SC2154 # set by hosts.bash
: "${last-}"
started=()

finish() {
	local pid
	for pid in "${started[@]}"; do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	drop_hosts
}

sleeps() { # both services' voluntary switches
	local host
	for host in a b; do
		sed -n 's/^voluntary_ctxt_switches:\t//p' \
			"/proc/$(service_of "$host")/status"
	done | paste -sd' '
}

figures() { # what for
	local lat bw
	lat=$(on b "$BIN/smc_run" qperf "$SERVER" -t 2 -m 64 -uu tcp_lat)
	bw=$(on b "$BIN/smc_run" qperf "$SERVER" -t 2 -m 65536 -uu tcp_bw)
	echo "$1: $(counted b active) connections," \
		"$(sed -n 's/.*latency *= *//p' <<<"$lat")," \
		"$(sed -n 's/.*bw *= *//p' <<<"$bw")"
}

none_left() {
	[ "$(counted a active)" = 0 ] && [ "$(counted b active)" = 0 ]
}

has_all() {
	[ "$(counted a active)" = "$1" ] && [ "$(counted b active)" = "$1" ]
}

beside() { # connections
	local server client i
	begin_on a server "$BIN/smc_run" python3 -c '
import socket, sys
s, kept = socket.create_server((sys.argv[1], 5500)), []
while True: kept.append(s.accept()[0])' "$SERVER"
	server=$last
	wait_for listens a 5500
	begin_on b client "$BIN/smc_run" python3 -c '
import signal, socket, sys
kept = [socket.create_connection((sys.argv[1], 5500))
	for i in range(int(sys.argv[2]))]
signal.pause()' "$SERVER" "$1"
	client=$last
	for ((i = 0; i < 10; i++)); do
		wait_for has_all "$1" 2>/dev/null && break
	done
	[ "$round" != 0 ] || echo "sleeps of the services before and after" \
		"10 s: $(sleeps); $(sleep 10; sleeps)"
	figures idle
	kill -TERM -- "-$client" "-$server"
	wait_for none_left
}

make_hosts
trap finish EXIT
for host in a b; do
	on "$host" chdev -q -l smc_r0 -a autosmc=no -a max_memory=16384
done
begin_on a qperf "$BIN/smc_run" qperf
wait_for listens a 19765
for ((round = 0; round < ${1:-8}; round++)); do
	figures none
	beside "${2:-1000}"
done
