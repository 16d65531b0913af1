# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# smc: a device for the tests of this directory, programs that run on it, and
# what became of their connections.
#
# A suite that loads this has the device, and a place of its own for each test;
# one that needs more says "setup() { smc_begin; ...". Every program of a test
# is started with "start" and is gone after it.

# shellcheck disable=SC2034 # for the suites
programs=${SMC_R_BUILD:-build}/obj/plain/tests
place=''
started=()
# Scripts share modules; nothing is written beside them.
export PYTHONDONTWRITEBYTECODE=1

# A directory that other users can look into, for daemons that leave root.
smc_device() {
	export SMC_PLACE
	SMC_PLACE=$(mktemp -d /tmp/smc_r.preload.XXXXXX)
	chmod 755 "$SMC_PLACE"
	export ODMDIR=$SMC_PLACE/odm SMC_R_RUNDIR=$SMC_PLACE/run
	mkdir -p "$ODMDIR" "$SMC_R_RUNDIR"
	unset SMC_R LD_PRELOAD http_proxy https_proxy all_proxy
	# Ten times the default: what is to be on SMC gets there where peers
	# wait long for a processor.
	export SMC_R_HANDSHAKE=2000
	mkdev -q -c tcpip -t smc_r
	# Many short connections on one port are on SMC all the same; learn.bats
	# switches that on.
	chdev -q -l smc_r0 -a enabled=1 -a "port_range_list=1-65535" \
		-a "ip_addr_list=127.0.0.1,::1" -a autosmc=no
}

smc_device_end() {
	rmdev -q -dl smc_r0 || true
	rm -rf "$SMC_PLACE"
}

smc_begin() {
	place=$SMC_PLACE/$BATS_TEST_NUMBER
	mkdir -p "$place"
	started=()
	smc_before=$(smc_counters)
}

# For the rest of the test a device of an ordinary user's own, in the directory
# $own; "${user[@]}" runs what follows as that user. Skips where that needs root.
own_device() {
	[ "$(id -u)" = 0 ] || skip "needs another user than the device's"
	own=$place/own
	user=(setpriv --reuid 65534 --clear-groups)
	mkdir -p "$own/odm" "$own/run"
	chown -R 65534 "$own"
	export ODMDIR=$own/odm SMC_R_RUNDIR=$own/run
	"${user[@]}" mkdev -q -c tcpip -t smc_r
	"${user[@]}" chdev -q -l smc_r0 -a enabled=1 \
		-a port_range_list=1-65535 -a ip_addr_list=127.0.0.1,::1 \
		-a autosmc=no
}

# Whatever the test left running; what it said when it failed.
smc_end() {
	local pid log
	for pid in ${started[@]+"${started[@]}"}; do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	for pid in ${started[@]+"${started[@]}"}; do
		gone "$pid" 5 || kill -KILL -- "-$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	if [ -z "${BATS_TEST_COMPLETED-}" ]; then
		for log in "$place"/*.log; do
			[ -s "$log" ] || continue
			echo "--- ${log##*/}"
			tail -n 12 "$log"
		done
		echo "--- counters before and after"
		echo "$smc_before"
		smc_counters
		smc_reasons
	fi
	rm -rf "$place"
}

# A process group has ended within 30 seconds, or so many.
gone() { # pid of its leader, seconds
	local i
	for ((i = 0; i < 20 * ${2:-30}; i++)); do
		kill -0 -- "-$1" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

# Skips the test, aloud, when a program is not installed.
need() { # program...
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null ||
			skip "$program is not installed"
	done
}

# Runs a program in the background, in a process group of its own; its output
# goes to NAME.log. The pid is in $last.
start() { # name, command...
	local name=$1
	shift
	setsid "$@" >"$place/$name.log" 2>&1 </dev/null &
	last=$!
	started+=("$last")
}

stop() { # pid of "start"
	kill -TERM -- "-$1" 2>/dev/null || true
	gone "$1" 5 || kill -KILL -- "-$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

# A port that nobody uses and that no connect is given, in $port.
free_port() {
	local i
	for ((i = 0; i < 200; i++)); do
		port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		[ -n "$(ss -Htan "sport = :$port or dport = :$port")" ] ||
			return 0
	done
	echo "no free port" >&2
	return 1
}

# Seen from outside: a probe would be a connection to count.
await_port() { # port
	local i
	for ((i = 0; i < 1200; i++)); do
		[ -z "$(ss -Hltn "sport = :$1")" ] || return 0
		sleep 0.05
	done
	echo "nobody listens on port $1" >&2
	return 1
}

await_true() { # command...
	local i
	for ((i = 0; i < 1200; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	echo "did not come true: $*" >&2
	return 1
}

# Since the device was made: "smc tcp demoted handshake_errors bytes".
smc_counters() {
	entstat -j smc_r0 | jq -r '.absolute | "\(.smc_connections) \(
		.tcp_connections) \(.demoted) \(.handshake_errors) \(
		.bytes_sent)"'
}

smc_reasons() {
	entstat -j smc_r0 | jq -r '.reasons[] | "\(.name) \(.count)"'
}

# How often so far; 0 where it never was the reason.
smc_reason() { # name
	entstat -j smc_r0 | jq --arg name "$1" \
		'[.reasons[] | select(.name == $name) | .count] | add // 0'
}

# What this test added: smc_new, tcp_new, demoted_new, errors_new, bytes_new.
smc_count() {
	local before after
	read -ra before <<<"$smc_before"
	read -ra after <<<"$(smc_counters)"
	smc_new=$((after[0] - before[0]))
	tcp_new=$((after[1] - before[1]))
	demoted_new=$((after[2] - before[2]))
	errors_new=$((after[3] - before[3]))
	bytes_new=$((after[4] - before[4]))
}

# Every connection of the test was on SMC and stayed there; each has two ends.
all_on_smc() { # least number of connections, least number of bytes
	smc_count
	echo "smc $smc_new tcp $tcp_new demoted $demoted_new" \
		"errors $errors_new bytes $bytes_new"
	[ "$smc_new" -ge $((2 * $1)) ]
	[ "$tcp_new" = 0 ]
	[ "$demoted_new" = 0 ]
	[ "$errors_new" = 0 ]
	[ "$bytes_new" -ge "${2:-1}" ]
}

# None was, and the device says why.
none_on_smc() { # name of the reason, or - if nothing matched
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	smc_reasons
	[ "$smc_new" = 0 ]
	if [ "$1" = - ]; then
		[ "$tcp_new" = 0 ]
	else
		[ "$tcp_new" -ge 1 ]
		smc_reasons | grep -q "^$1 [1-9]"
	fi
}

# A file of random bytes and its sum, in $sum.
make_data() { # file, bytes
	head -c "$2" /dev/urandom >"$1"
	sum=$(sha256sum <"$1")
}

same_data() { # file
	[ "$(sha256sum <"$1")" = "$sum" ]
}

# ---- for suites that say nothing else ----

setup_file() {
	smc_device
}

teardown_file() {
	smc_device_end
}

setup() {
	smc_begin
}

teardown() {
	smc_end
}
