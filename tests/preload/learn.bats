#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# learn: ports whose connections are short go to TCP, and come back (autosmc).

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${user-}" "${smc_new-}" "${tcp_new-}" "${demoted_new-}" "${place-}" "${port-}" "${last-}"

setup_file() {
	smc_device
	chdev -q -l smc_r0 -a autosmc=yes
}

# Connections that ask once; what became of them is in smc_new and tcp_new.
play() { # load, argument...
	local kind=$1
	shift
	# shellcheck disable=SC2034 # for smc_count
	smc_before=$(smc_counters)
	smc_run python3 tests/preload/learning.py "$kind" "$port" "$@"
	smc_count
	echo "$kind $*: smc $smc_new tcp $tcp_new"
}

serve() { # name of the engine's command, or env
	free_port
	start server "$@" python3 tests/preload/learning.py serve "$port" \
		threads
	await_port "$port"
}

# A hundred or so turn the port; more where a busy machine makes them rare.
mostly_on_tcp() { # connections
	[ "$smc_new" -ge 10 ]
	[ "$tcp_new" -ge "$1" ]
	[ $((smc_new + tcp_new)) = $((2 * $1)) ]
}

place() { # jq expression of the place
	entstat -j smc_r0 |
		jq -r --argjson port "$port" \
			".places[] | select(.port == \$port) | $1"
}

is_refused() {
	[ "$(place .reason)" = NOT_WORTH_IT ]
}

# Short ones go on until the test ends: what is said of them is true meanwhile.
play_on() { # command...
	start load "$@" python3 tests/preload/learning.py short "$port" 1000000
	await_true is_refused
}

# A port that carries short ones, long ones, and short ones again.
turns_and_returns() {
	play long 50
	[ "$smc_new" = 2 ]
	play short 1000
	mostly_on_tcp 1000
	[ "$(smc_reason NOT_WORTH_IT)" -ge 1000 ]
}

comes_back() {
	sleep 0.7
	play long 1000
	[ "$smc_new" = 2 ] && [ "$tcp_new" = 0 ]
	play short 600
	mostly_on_tcp 600
}

@test "short connections turn their port to TCP, and it comes back" {
	serve smc_run
	turns_and_returns
	comes_back
}

# It begins without anything of its parent's, and nobody told it so.
@test "the child of a server on TCP runs programs, forks, and is on SMC-R" {
	local other
	free_port
	other=$port
	start other smc_run python3 tests/preload/learning.py serve "$other" \
		threads
	await_port "$other"
	free_port
	start server smc_run python3 tests/preload/learning.py serve "$port" \
		forks "$other"
	await_port "$port"
	play_on smc_run
	for _ in 1 2 3; do
		timeout 20 smc_run python3 tests/preload/learning.py task "$port"
	done
}

@test "the figures are in entstat, in words and as numbers" {
	serve smc_run
	play_on smc_run
	entstat -d smc_r0 >"$place/text"
	grep -A 3 "^NOT_WORTH_IT (0x0A01000B): " "$place/text"
	grep "^	127.0.0.1:$port: lately [0-9]* connections a second, with" \
		"$place/text"
	[ "$(place '.bytes > 50 and .bytes < 200 and .requests > 0.3')" = true ]
	[ "$(place '.connections_per_second > 100 and .tcp_ms > 0')" = true ]
	[ "$(place '.life_us > 0 and .life_us < 1000000')" = true ]
}

holds_no_memory() {
	[ "$(entstat -j smc_r0 | jq .now.rmb_bytes)" = 0 ]
}

# One connection, then how many files its process has in the run directory.
one_connection() {
	# shellcheck disable=SC2016 # Python's
	smc_run python3 -c '
import glob, os, socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
	at = os.environ["SMC_R_RUNDIR"]
	print(len(glob.glob(f"{at}/users/*/status/{os.getpid()}.*")))' "$1"
}

@test "a process that makes one connection to it makes no segment" {
	serve smc_run
	[ "$(one_connection "$port")" = 1 ]
	play_on smc_run
	[ "$(one_connection "$port")" = 0 ]
}

@test "a port that was left to TCP keeps no memory for connections" {
	serve smc_run
	play_on smc_run
	await_true holds_no_memory
}

# Besides what it does without the library: it is asked whether the client
# agreed, which a restart of strace may see once more.
calls_of_a_server() {
	timeout 1 strace -f -c -U name,calls -o "$place/calls" -p "$1" || true
	awk '$1 == "accept4" { accepted = $2 }
	$1 == "getsockopt" { asked = $2 }
	$1 ~ /^(poll|ppoll|fcntl|futex|rt_sigprocmask|setsockopt)$/ { rest += $2 }
	END { print accepted + 0, asked + 0, rest + 0 }' "$place/calls"
}

@test "a server on TCP makes one call more for a connection" {
	need strace
	local accepted asked rest
	free_port
	start server smc_run python3 tests/preload/learning.py serve "$port"
	local server=$last
	await_port "$port"
	play_on smc_run
	await_true holds_no_memory
	read -r accepted asked rest <<<"$(calls_of_a_server "$server")"
	echo "accepted $accepted asked $asked rest $rest"
	[ "$accepted" -ge 20 ]
	[ "$asked" -le $((accepted + accepted / 10 + 1)) ]
	[ "$rest" -le $((accepted / 4)) ]
}

@test "connections that come rarely stay on SMC" {
	serve smc_run
	play short 40 0.04
	[ "$smc_new" = 80 ]
}

@test "long connections keep their port on SMC beside short ones" {
	serve smc_run
	for _ in 1 2 3 4; do
		play long 2000
		[ "$smc_new" = 2 ]
	done
}

@test "what exists stays on SMC when its port turns" {
	serve smc_run
	play mixed 1000
	[ "$tcp_new" -ge 400 ]
	[ "$demoted_new" = 0 ]
	[ "$(entstat -j smc_r0 | jq .absolute.requests_received)" -ge 1000 ]
}

@test "nobody turns a port without a listener that has the engine" {
	serve env
	play short 600
	[ "$smc_new" = 0 ]
	[ -z "$(place .reason)" ]
	stop "$last"
	# The next server at that place begins on SMC.
	start server smc_run python3 tests/preload/learning.py serve "$port"
	await_port "$port"
	sleep 0.1
	play long 10
	[ "$smc_new" = 2 ]
}

@test "autosmc=no keeps all of them on SMC" {
	serve smc_run
	chdev -q -l smc_r0 -a autosmc=no
	play short 600
	chdev -q -l smc_r0 -a autosmc=yes
	[ "$tcp_new" = 0 ]
	[ "$smc_new" = 1200 ]
}

# One in 30 ms would stay on SMC-R, were it served by who accepted it.
children_cost_more() { # command...
	local begun
	free_port
	start server "$@" python3 tests/preload/learning.py serve "$port" \
		children
	await_port "$port"
	begun=$EPOCHSECONDS
	play short 80 0.03
	# Below five a second they may stay.
	[ $((EPOCHSECONDS - begun)) -le 9 ] || skip "the machine is too slow"
	[ "$smc_new" -ge 4 ]
	[ "$tcp_new" -ge 20 ]
}

@test "a child for each connection costs more" {
	children_cost_more smc_run
}

@test "without BPF the processes of a user know it of each other" {
	own_device
	"${user[@]}" chdev -q -l smc_r0 -a autosmc=yes
	smc_run() { "${user[@]}" "$(command -v smc_run)" "$@"; }
	free_port
	start server "${user[@]}" "$(command -v smc_run)" python3 \
		tests/preload/learning.py serve "$port" threads
	await_port "$port"
	turns_and_returns
	comes_back
	play_on "${user[@]}" "$(command -v smc_run)"
	[ "$(place '.bytes > 100 and .bytes < 200')" = true ]
	children_cost_more "${user[@]}" "$(command -v smc_run)"
}
