#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# oracle: whatever a program does with a connection, it sees the same with the
# library as without. SMC_R_LONG runs many more generated scripts, and each
# way of being wrong.
# limit: 900
# long: 7200

load ../preload/smc
# shellcheck disable=SC2154 # set by smc.bash
: "${place-}" "${own-}" "${user-}"
here=$BATS_TEST_DIRNAME
seeds=${SMC_R_LONG:+1000}
seeds=${seeds:-12}

setup() {
	smc_begin
	unset SMC_R_HANDSHAKE # late peers are part of the game
}

@test "scripts: plain TCP is equal to itself" {
	"$here/oracle.sh" -j 4 -m plain -s 5000 -n 25 echo sizes epoll_edge \
		fork_child_writes kill_peer close_unread signal_recv
	smc_count
	# shellcheck disable=SC2154
	[ "$smc_new" = 0 ]
}

# A way of being wrong, and the scripts that must notice it.
wrongs() {
	cat <<-EOT
		peek-takes peek
		trunc-copies truncate
		byte-changed sizes
		writes-beyond recv_kinds
		reset-is-end close_unread
		never-restarted signal_recv
		no-sigpipe signal_pipe
		send-short send_blocked_large
		writev-first send_kinds
		name-kept recv_kinds
		sendfile-offset send_kinds
		splice-refused send_kinds
		fionbio-ignored nonblock_switch
		linger-ignored linger_zero
		so-error-zero close_unread_error_first
		shutdown-lost shutdown_write
		shutdown-read-too shutdown_write
		close-ends-sharers fork_parent_closes
		close-takes-unread close_unread
		connect-waits connect_nonblocking
		accept4-flags accept_kinds
		mod-ignored epoll_level
		edge-is-level epoll_edge
		level-is-edge epoll_level
		oneshot-repeats epoll_oneshot
		rdhup-unseen epoll_level
		epoll-data epoll_level
		err-bits-lost epoll_error_bits
		one-bit-only epoll_edge
		timeout-early timeouts
		always-writable poll_room
		select-writers poll_kinds
		peer-unknown identity
		dup-cloexec dup_kinds
	EOT
	[ -n "${SMC_R_LONG-}" ] || return 0
	cat <<-EOT
		waitall-short waitall
		nosignal-ignored signal_pipe
		always-restarted signal_recv
		oob-hidden oob
		oob-ordinary oob
		send-never-waits signal_send
		read-waits zero_length
		passing-loses pass_fd_unread
		exec-loses exec_image
		fionread-zero queues
		rcvtimeo-ignored timeouts
		sndtimeo-ignored timeouts
		rcvlowat-ignored low_water
		oobinline-ignored oob_inline
		epoll-uninterruptible signal_wait
	EOT
}

# Most of them make somebody wait in vain.
@test "a library that is wrong is noticed, whatever is wrong" {
	wrongs | xargs -L 1 -P 16 "$here/oracle.sh" -w
}

scenarios_but() { # names...
	local script name
	scripts=()
	for script in "$here"/scenarios/*.txt; do
		name=$(basename "$script" .txt)
		[[ " $* " == *" $name "* ]] || scripts+=("$script")
	done
}

# The words of one turn.
turn() { # which, of how many, words...
	local which=$1 many=$2 i=0 word
	shift 2
	for word; do
		[ $((i++ % many)) != "$which" ] || echo "$word"
	done
}

@test "scenarios with the library in both processes, on SMC" {
	"$here/oracle.sh" -j 6 -m both all
	smc_count
	[ "$smc_new" -ge 200 ]
}

# SMC_R_LONG: each scenario with the library in either process; else a sixth of
# them each, and another as processes that know each other.
@test "scenarios with the library in one process" {
	local i sides=(A B)
	scenarios_but
	if [ -n "${SMC_R_LONG-}" ]; then
		"$here/oracle.sh" -j 6 -m A,B "${scripts[@]}"
	else
		for i in 0 1; do
			# shellcheck disable=SC2046 # no name has a blank
			"$here/oracle.sh" -j 6 -m "${sides[i]}" \
				$(turn "$i" 6 "${scripts[@]}")
		done
	fi
	smc_count
	# Eight connections have both ends where the library is: in
	# two_ends_one_process, passed_after_both_ends, epoll_pwait2_plain,
	# aio_unread, and two each in epoll_own_listener and
	# epoll_two_names_young.
	[ "$smc_new" -le 16 ]
}

@test "generated scripts with the library in both processes, on SMC" {
	"$here/oracle.sh" -j 4 -m both -s 1 -n "$seeds"
	# From here on they know more steps.
	"$here/oracle.sh" -j 4 -m both -s 1000000 -n "$seeds"
	"$here/oracle.sh" -j 8 -m both -s 20000000 -n "$seeds"
	smc_count
	[ "$smc_new" -ge $((2 * seeds)) ]
}

@test "generated scripts with the library in one process" {
	"$here/oracle.sh" -j 4 -m A,B -s 1 -n $((seeds / 4))
	"$here/oracle.sh" -j 4 -m A,B -s 1000000 -n $((seeds / 4))
}

@test "games without rules, each side a process, or one thread both" {
	"$here/duel.sh" -j 8 -s 1 -n $((seeds / 2))
	smc_count
	[ "$smc_new" -ge "$seeds" ]
}

@test "games that ask for states, between processes that know each other" {
	"$here/duel.sh" -j 8 -s 2000000 -n $((seeds / 4))
	DUEL_WARM=1 "$here/duel.sh" -j 8 -s 2000000 -n $((seeds / 4))
}

# ORACLE_WARM: each listener has served two connections of the other process, so
# that the script's own begin by a knock.
@test "scenarios between processes that know each other" {
	# Listeners that do not fit another process's client.
	scenarios_but bound_connect disconnect listener_odd
	[ -n "${SMC_R_LONG-}" ] ||
		mapfile -t scripts < <(turn 2 6 "${scripts[@]}")
	ORACLE_WARM=1 "$here/oracle.sh" -j 6 -m both "${scripts[@]}"
	ORACLE_WARM=1 "$here/oracle.sh" -j 4 -m both -s 1 -n "$seeds" 73
}

# There a server answers before its client has made another call. Seeds about how
# connections begin; two of the first were different once.
@test "an ordinary user, without BPF" {
	own_device
	TMPDIR=$own "${user[@]}" "$here/oracle.sh" -j 4 -m both,A \
		-s 20000030 -n 15 "$here"/scenarios/*young*.txt
}

# Each was different once.
@test "seeds that found something" {
	"$here/oracle.sh" -j 4 -m both,A,B 1835 300169 301316 301321 \
		500420 501293 501612 1002008 1010002 1010100 \
		1000088 1004023 1010018 1010068 1010325 501409 \
		3001045 3001057 3001058 182 20000118 20000286 20000607 \
		20000655 20000691 20000101 10000178 3700188 33500000 \
		9500379
	"$here/duel.sh" -j 4 -m both,one 1000136:36,48,51,52,54 \
		1000136:36,45,47,51,52,54 2000043:17,18,32,58 \
		2000066:49,54,55 2000627:0,9,24,59 \
		2000615:10,16,25,32,34 2000717:0,2,29,36,49 4000045:7,17 \
		2000806:0,10,14,17,19,20 4800038:0,26 \
		4820013:0,1,3,6,48 4850020:0,7,20,51,52 \
		4870103:0,24,59 4407309:0,1,2
}
