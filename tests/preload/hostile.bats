#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# hostile: peers that speak CLC and lie. Whatever they do, a program under
# smc_run lives, is not kept busy, reads no byte that is not data, serves its
# other connections, and the memory comes back. SMC_R_LONG tries every attack
# on every kind of victim; else the kinds take turns.
# limit: 900

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}"

at_once=10

setup() {
	smc_begin
	unset SMC_R_HANDSHAKE # late peers are part of the game
	hostile=$programs/preload/hostile
	victim=$programs/preload/victim
}

# Notes what is wrong with one attack in the file that the waiting test reads.
complain() { # words...
	echo "$name: $*" >>"$place/complaints"
}

# Hundredths of a second that a process has used.
used_by() { # pid
	awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0
}

# Connections of the server's port that the server still holds.
held() {
	ss -Htn "sport = :$port" | awk '
		$1 !~ /TIME-WAIT|FIN-WAIT|LAST-ACK|CLOSING/ { n++ }
		END { print n + 0 }'
}

held_is() { # number
	[ "$(held)" = "$1" ]
}

# Bytes of TCP that a hostile peer sent as such: what looks like a message and
# is none is data, as the server cannot know better; and so is what it sends
# beside the ring, which comes behind what was in the ring.
is_data() { # attack
	case $1 in
	eyecatcher_then_garbage | length_* | random_fields | decline_twice | \
		data_on_tcp | decline_after_confirm)
		return 0 ;;
	esac
	return 1
}

# A thread asleep in recv() waits for the ring: it does not hear that TCP alone
# has ended, which only a peer that lies brings about; smc_r(7) says so.
is_deaf() { # mode, attack
	case "$1 $2" in
	thread\ half_close_[34] | block\ half_close_[23]) return 0 ;;
	esac
	return 1
}

# The end of an attack as hostile tells it.
judge() { # mode, attack, exit, words
	case $3 in
	0) return 0 ;;
	137) [ "$2" != killed_in_the_middle ] || return 0 ;;
	77) echo "$2: $4"
		return 0 ;;
	esac
	is_deaf "$1" "$2" || complain "exit $3: $4"
}

# A peer that is slow and honest has to be waited for, on a busy machine too.
be_patient() { # attack
	[[ $1 != one_byte_at_a_time ]] || export SMC_R_HANDSHAKE=20000
}

# One attack on a server, beside an innocent connection.
attack_server() { # mode, attack
	local before begin words status=0 wall used server steady
	name="$1 $2"
	be_patient "$2"
	start "server.$name" smc_run "$victim" server "$1" "$port"
	server=$last
	await_port "$port"
	start "steady.$name" smc_run "$victim" steady "$port"
	steady=$last
	await_true held_is 1
	before=$(used_by "$server")
	begin=$EPOCHREALTIME
	words=$(timeout 60 "$hostile" client "$port" "$2" 2>&1) || status=$?
	wall=$(((${EPOCHREALTIME/./} - ${begin/./}) / 10000))
	used=$(($(used_by "$server") - before))
	judge "$1" "$2" "$status" "$words"
	kill -0 "$server" 2>/dev/null || complain "the server is dead"
	[ $used -le $((20 + wall / 2)) ] ||
		complain "busy for $used of $wall hundredths"
	await_true held_is 1 2>/dev/null ||
		complain "the server holds $(held) connections"
	tail -n 1 "$place/server.$name.log" | grep -q alien && ! is_data "$2" &&
		complain "no data: $(tail -n 1 "$place/server.$name.log")"
	# Others are served as before.
	words=$(timeout 60 smc_run "$victim" client block "$port" 2>&1)
	[[ $words = *"got there and back"* ]] || complain "then: $words"
	kill -TERM "$steady"
	wait "$steady" || complain "innocent: $(cat "$place/steady.$name.log")"
	grep -q '^steady [1-9]' "$place/steady.$name.log" ||
		complain "innocent: $(cat "$place/steady.$name.log")"
	stop "$server"
}

# What the client gets when the server's lie ends in plain TCP, or in nothing
# that matters.
is_served() { # attack
	case $1 in
	none | accept_too_late | decline* | one_byte* | accept_twice | \
		resends_for_ever | wrong_* | no_channel | *_memory | \
		flood_of_channels)
		return 0 ;;
	esac
	return 1
}

attack_client() { # mode, attack
	local status=0 lie=0 words
	name="$1 $2"
	be_patient "$2"
	start "$name" "$hostile" server "$port" "$2"
	await_port "$port"
	words=$(timeout 60 smc_run "$victim" client "$1" "$port" 2>&1) ||
		status=$?
	wait "$last" || lie=$?
	judge "$1" "$2" $lie "$(tail -n 1 "$place/$name.log")"
	# 3: it did not end, whatever the server did; 124: nor by itself.
	[ $status = 0 ] || complain "client exit $status: $words"
	if is_served "$2" && [ $lie = 0 ] &&
		[[ $words != *"got there and back"* ]]; then
		complain "$words"
	fi
	[[ $words = *alien* ]] && ! is_data "$2" &&
		complain "no data: $words"
	return 0
}

# Every attack, some at a time; each has its own victim.
all_attacks() { # client or server, modes...
	local side=$1 attack turn=0 mode modes running=0 target=attack_server
	shift
	[ "$side" = client ] || target=attack_client
	for attack in $("$hostile" list "$side"); do
		[ "$side $attack" != "server freezes_and_is_deaf" ] || continue
		modes=("$@")
		if [ -z "${SMC_R_LONG-}" ]; then
			turn=$((turn + 1))
			modes=("${modes[turn % $#]}")
		fi
		for mode in "${modes[@]}"; do
			[ $running -lt $at_once ] || wait -n || true
			running=$((running + 1))
			free_port
			# Whatever ends it early is a complaint, too.
			(set +e; "$target" "$mode" "$attack" &&
				echo "$attack" >>"$place/tried") \
				>>"$place/words" 2>&1 3>&- &
		done
	done
	wait
	await_true all_is_back ||
		echo "left: $(left)" >>"$place/complaints"
	sort "$place/complaints" 2>/dev/null || true
	[ ! -s "$place/complaints" ]
}

left() {
	entstat -j smc_r0 | jq -c .now
	ls "$SMC_R_RUNDIR"/users/*/*
}

# No process, no memory, no file but the sums.
all_is_back() {
	[ "$(entstat -j smc_r0 | jq '.now | .processes + .active + .starting +
		.rmb_bytes + .rmb_reserved')" = 0 ] &&
		! find "$SMC_R_RUNDIR"/users/*/status -name "[1-9]*" | grep -q .
}

@test "servers live through every lie of a client" {
	all_attacks client poll epoll thread
}

@test "clients live through every lie of a server" {
	all_attacks server block poll
}
