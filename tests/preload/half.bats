#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# half: connections that end one half after the other, in the eyes of the
# kernel.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${port-}"

setup() {
	smc_begin
	# No stall takes a connection back to TCP.
	export SMC_R_STALL=0
	half=$programs/preload/half
}

# Plain TCP shows that the program itself is right. Each listens on the port
# of the one before, as nothing keeps it.
scenes() { # where TIME_WAIT is, scene...
	local end=$1 scene
	shift
	for scene in "$@"; do
		echo "$scene"
		[ "$end" = client ] && [ -n "${port-}" ] || free_port
		# shellcheck disable=SC2086 # none, or one word
		[ "$("$half" "$port" "$scene" ${who-})" = "$end" ]
		[ "$end" = client ] || free_port
		# shellcheck disable=SC2086
		[ "$(smc_run "$half" "$port" "$scene" ${who-})" = "$end" ]
	done
	all_on_smc $#
}

# If a peer is busy, the other end sends its FIN, by the peer's socket.
may_borrow() {
	[ "$(id -u)" = 0 ] ||
		[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] ||
		skip "no process here may trace another one"
	grep -q "^Seccomp:.0$" /proc/self/status ||
		skip "system calls are filtered here"
}

@test "who shuts its half first has TIME_WAIT, although it closes last" {
	scenes client recv limited poll select epoll
}

@test "a half that is shut when all was read, and when nothing was sent" {
	scenes client late nothing
}

@test "one that makes no call before its peer has closed, or has ended" {
	may_borrow
	scenes client busy exit
}

@test "both halves, one by one" {
	may_borrow
	scenes client both
}

@test "a server that shuts its half and waits for the client's end" {
	may_borrow
	scenes server linger linger-epoll
}

@test "no half is shut: who closes first has TIME_WAIT" {
	scenes client close
	scenes server early
}

@test "ends of two users, of whom neither may send in the other's place" {
	[ "$(id -u)" = 0 ] || skip "only root becomes two users"
	who=strangers scenes client recv poll epoll
}

@test "who waits for room behind the peer's FIN sleeps" {
	scenes client slow slow-limited slow-poll slow-epoll
}

# TCP takes megabytes before a writer is refused, and so does not tell it.
@test "a writer is told of a half that was shut behind what TCP takes" {
	scenes client all all-level endless
}

@test "a peer that is killed behind its FIN, with bytes unread" {
	scenes "" dead-poll dead-epoll dead-send
}
