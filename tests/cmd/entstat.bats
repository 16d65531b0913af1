#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# entstat: the frame, the sums, the reasons, the reset, strangers' files.

load status
# shellcheck disable=SC2154 # set by status.bash
: "${living-}" "${user_dir-}" "${dead-}"

setup() {
	place_make
}

teardown() {
	place_end
}

forge_busy() {
	forge <<-EOT
		segment $living
		program server
		rmb 65536
		count server_connections 5
		count smc_connections 3
		count tcp_connections 2
		count bytes_sent 1000
		count requests_sent 9
		count doorbells 7
		count sleeps 6
		count spin_hits 5
		count spin_misses 4
		count buffer_full 3
		count first_contacts 2
		count reuses 1
		fallback 0x03010000 2
		slot 1 1 1 10.0.0.1 7000 10.0.0.2 40000 24 100 1
		group 3
		slot 64 1 0 10.0.0.1 7000 10.0.0.2 40001 0 0 1 0x05000000 0x03030000
	EOT
}

@test "a name in UTF-8 stays, and columns below it" {
	publish
	start_living
	forge <<-EOT
		segment $living
		program grün
		slot 1 1 1 10.0.0.1 7000 10.0.0.2 40000 24 100 1
	EOT
	run entstat -d smc_r0
	[[ $output == *" grün             10.0.0.1:7000 "* ]]
	[ "$(entstat -j smc_r0 | jq -r '.connections[0].program')" = grün ]
}

@test "a device that nobody made is answered with 0909-003 and 1" {
	run entstat ent9
	[ "$status" -eq 1 ]
	[ "$output" = "entstat: 0909-003 Unable to connect to device ent9, errno = 19
	Statistics are kept of smc_r0 only: entstat smc_r0" ]
	run entstat smc_r0
	[ "$status" -eq 1 ]
	[ "$output" = "entstat: 0909-003 Unable to connect to device smc_r0, errno = 19
	There is no such device. Make it with mkdev -c tcpip -t smc_r" ]
	mkdev -d -c tcpip -t smc_r
	run entstat smc_r0
	[ "$status" -eq 1 ]
	[ "${lines[1]}" = "	The device is not Available in $SMC_R_RUNDIR. Configure it with mkdev -l smc_r0" ]
}

@test "a run directory that is no absolute path is refused" {
	SMC_R_RUNDIR=run run entstat smc_r0
	[ "$status" -eq 1 ]
	[ "$output" = "entstat: SMC_R_RUNDIR must be an absolute path: run" ]
}

@test "settings that are damaged, or a stranger's, are named" {
	publish
	echo more >>"$SMC_R_RUNDIR/smc_r0"
	run entstat smc_r0
	[ "$status" -eq 1 ]
	has "$SMC_R_RUNDIR/smc_r0 is damaged"
	[ "$(id -u)" = 0 ] || skip "only root can give files away"
	publish
	chown 12345 "$SMC_R_RUNDIR/smc_r0"
	run entstat smc_r0
	[ "$status" -eq 1 ]
	has "belongs neither to root nor to the owner"
}

@test "wrong use prints the usage on standard error and exits 1" {
	for words in "" "-x smc_r0" "smc_r0 smc_r1"; do
		# shellcheck disable=SC2086
		run entstat $words
		[ "$status" -eq 1 ]
		has "Usage: entstat"
		# shellcheck disable=SC2086
		[ -z "$(entstat $words 2>/dev/null)" ]
	done
	run entstat -h
	[ "$status" -eq 0 ]
	has "Usage: entstat"
}

@test "a device without engines shows zeros in the frame of AIX" {
	publish
	run entstat smc_r0
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "-------------------------------------------------------------" ]
	[ "${lines[1]}" = "ETHERNET STATISTICS (smc_r0) :" ]
	[ "${lines[2]}" = "Device Type: SMC-R" ]
	[[ "${lines[3]}" =~ ^"Elapsed Time: "[0-9]+" days "[0-9]+" hours "[0-9]+" minutes "[0-9]+" seconds"$ ]]
	has_line "Transmit Statistics:                          Receive Statistics:"
	has_line "--------------------                          -------------------"
	has_line "Bytes: 0                                      Bytes: 0"
	has_line "General Statistics:"
	has_line "Connections Handled: 0"
	has_line "Driver Flags: Up Running "
	lacks "Specific Statistics"
	publish 0
	run entstat smc_r0
	has_line "Driver Flags: Up "
}

@test "counters and connections in use are summed" {
	publish
	start_living
	forge_busy
	run entstat smc_r0
	[ "$status" -eq 0 ]
	has_line "Bytes: 1024                                   Bytes: 100"
	has_line "Requests: 11                                  Requests: 4"
	has_line "Bytes per Request: 93                         Bytes per Request: 25"
	has_line "Connections Handled: 5"
	has_line "SMC-R Connections: 3"
	has_line "TCP Connections: 2"
	has_line "SMC-R Connections Active Now: 1"
}

@test "-d tells the counters, the reasons and each connection" {
	publish
	start_living
	forge_busy
	forge <<-EOT
		totals $(id -u)
		rmb 65536
		count doorbells 1
	EOT
	run entstat -d smc_r0
	[ "$status" -eq 0 ]
	has_line "SMC-R Specific Statistics:"
	has_line "--------------------------"
	has_line "RMB Memory in Use (bytes): 65536"
	has_line "RMB Memory Limit (bytes): 67108864"
	has_line "Link Groups, First Contact: 2"
	has_line "Link Groups, Reuse: 1"
	has_line "Doorbells: 8"
	has_line "Sleeps: 6"
	has_line "Spin Hits: 5"
	has_line "Spin Misses: 4"
	has_line "Buffer Full: 3"
	has_line "PEER_NO_SMC (0x03010000): 2"
	has "	peer does not offer SMC"
	has "	Cure: enable SMC-R on the peer"
	has "State   Role Pid         Program"
	printf '%s\n' "$output" | grep -Eq \
		"^ACTIVE  SERV $living +server +10.0.0.1:7000 +10.0.0.2:40000 +SHM +- +100 +24$"
	printf '%s\n' "$output" | grep -Eq \
		"^TCP     SERV $living +server +10.0.0.1:7000 +10.0.0.2:40001 +- +PEERDECL/0x03030000 +0 +0$"
	printf '%s\n' "$output" | grep -Eq \
		"^$living\.3 +server +SERV SHM +10.0.0.2 +- +1 +65536$"
}

@test "each counter line has one colon and a number" {
	publish
	start_living
	forge_busy
	entstat -d smc_r0 >"$BATS_TEST_TMPDIR/out"
	# From General Statistics to the reasons, but for titles and rules.
	sed -n '/^General/,/^Reasons/p' "$BATS_TEST_TMPDIR/out" |
		grep -v -e '^[A-Za-z -]*:$' -e '^-*$' -e '^Driver Flags: Up' \
			>"$BATS_TEST_TMPDIR/counters"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/counters")" -ge 20 ]
	run grep -v -E '^[^:]+: [0-9]+$' "$BATS_TEST_TMPDIR/counters"
	[ "$status" -eq 1 ]
}

@test "processes that share a connection are counted on its line" {
	publish
	start_living
	first=$living
	start_living
	make_dead
	forge <<-EOT
		segment $first
		holder 1 $living
		holder 2 $dead 1
		slot 1 0 2 10.0.0.1 40000 10.0.0.2 7000 1 2 7
	EOT
	run entstat -d smc_r0
	[ "$status" -eq 0 ]
	printf '%s\n' "$output" | grep -Eq "^ACTIVE  CLNT $first\+1 +forged "
}

@test "a segment of dead processes goes into the totals once" {
	publish
	make_dead
	forge <<-EOT
		segment $dead 1
		count client_connections 2
		count bytes_received 5
		slot 1 0 1 10.0.0.1 40000 10.0.0.2 7000 11 22 1
	EOT
	[ "$(segments)" = 1 ]
	for turn in 1 2 3; do
		run entstat smc_r0
		[ "$status" -eq 0 ] || echo "turn $turn"
		has_line "Bytes: 11                                     Bytes: 27"
		has_line "Connections Handled: 2"
		has_line "SMC-R Connections Active Now: 0"
		[ "$(segments)" = 0 ]
	done
}

@test "a dead segment that smc_run -v waits for is shown but stays" {
	publish
	make_dead
	start_living
	forge <<-EOT
		segment $dead $((1 << 60))
		reporter $living
		count client_connections 2
	EOT
	run entstat smc_r0
	has_line "Connections Handled: 2"
	[ "$(segments)" = 1 ]
	place_end
	run entstat smc_r0
	has_line "Connections Handled: 2"
	[ "$(segments)" = 0 ]
}

@test "-r shows the counters, then starts them at zero" {
	publish
	start_living
	forge_busy
	touch -d '3 days ago' "$SMC_R_RUNDIR/smc_r0"
	run entstat -r smc_r0
	[ "$status" -eq 0 ]
	has "Elapsed Time: 3 days 0 hours 0 minutes"
	has_line "Bytes: 1024                                   Bytes: 100"
	run entstat -d smc_r0
	has "Elapsed Time: 0 days 0 hours 0 minutes"
	has_line "Bytes: 0                                      Bytes: 0"
	has_line "Connections Handled: 0"
	lacks "PEER_NO_SMC"
	has_line "SMC-R Connections Active Now: 1"
	forge <<-EOT
		totals $(id -u)
		count bytes_sent 77
	EOT
	run entstat smc_r0
	has_line "Bytes: 77                                     Bytes: 0"
	run entstat -j smc_r0
	[ "$(printf '%s' "$output" | jq .absolute.bytes_sent)" = 1101 ]
	[ "$(printf '%s' "$output" | jq .counters.bytes_sent)" = 77 ]
}

@test "before any reset the time runs from the first mkdev, not from a chdev" {
	publish
	touch -d '3 days ago' "$SMC_R_RUNDIR/smc_r0"
	run entstat smc_r0
	has "Elapsed Time: 3 days 0 hours 0 minutes"
	: >"$SMC_R_RUNDIR/generation"
	[ "$(stat -c %W "$SMC_R_RUNDIR/generation")" -gt 0 ] ||
		skip "this file system does not know when a file was made"
	run entstat smc_r0
	has "Elapsed Time: 0 days 0 hours 0 minutes"
}

@test "counters that are smaller than at the reset show zero" {
	publish
	start_living
	path=$(forge_busy)
	entstat -r smc_r0 >/dev/null
	rm "$path"
	run entstat smc_r0
	has_line "Bytes: 0                                      Bytes: 0"
}

@test "a user who owns neither the run directory nor root may not reset" {
	[ "$(id -u)" = 0 ] || skip "only root can become another user"
	place_make_public
	publish
	start_living
	forge_busy
	run as_stranger entstat -r smc_r0
	[ "$status" -eq 1 ]
	has "only root and the owner of $SMC_R_RUNDIR may reset"
	lacks "General"
	[ ! -e "$SMC_R_RUNDIR/baseline" ]
	# Nothing that others have is shown to it, or merged by it.
	run as_stranger entstat -d smc_r0
	[ "$status" -eq 0 ]
	has_line "Connections Handled: 0"
	has_line "Processes Now: 0"
	kill -KILL "$living"
	wait "$living" || true
	run as_stranger entstat -d smc_r0
	[ "$status" -eq 0 ]
	[ "$(segments)" = 1 ]
}

@test "root merges the segments of a user with that user's rights" {
	[ "$(id -u)" = 0 ] || skip "only root can give files away"
	place_make_public
	publish
	make_dead
	make_user 0123ab
	forge <<-EOT
		segment $dead 1
		uid 12345
		count client_connections 4
	EOT
	chown -R 12345:12345 "$user_dir"
	run entstat smc_r0
	[ "$status" -eq 0 ]
	has_line "Connections Handled: 4"
	[ "$(segments)" = 0 ]
	[ "$(stat -c %u "$user_dir/status/totals")" = 12345 ]
	[ ! -e "$SMC_R_RUNDIR/users/000000/status/totals" ]
}

# Names that a stranger may make in users/, and what may be in them.
@test "what is no user's directory counts nothing and harms nothing" {
	[ "$(id -u)" = 0 ] || skip "only root can give files away"
	place_make_public
	publish
	start_living
	forge_busy
	local users=$SMC_R_RUNDIR/users
	make_user 000001 12345
	rm -rf "$users/000001/status"
	ln -s ../000000/status "$users/000001/status"
	ln -s 000000 "$users/000002"
	mkfifo "$users/000003"
	: >"$users/000004"
	cp -a "$users/000000" "$users/000005"
	chmod 755 "$users/000005/status"
	cp -a "$users/000000" "$users/000006"
	chown 12345 "$users/000006"
	cp -a "$users/000000" "$users/0000007"
	chown -h 12345 "$users"/00000{2,3,4}
	run timeout 20 entstat -d smc_r0
	[ "$status" -eq 0 ]
	has_line "Connections Handled: 5"
	# A file of another user in a directory, which only root can have made.
	chown 12345 "$users"/000000/status/*
	run timeout 20 entstat -d smc_r0
	has_line "Connections Handled: 0"
}

@test "a user who stops the sweep does not stop root's entstat" {
	[ "$(id -u)" = 0 ] || skip "only root can give files away"
	command -v strace >/dev/null || skip "needs strace"
	place_make_public
	publish
	make_dead
	make_user 0123ab
	forge <<-EOT
		segment $dead 1
		uid 12345
		count client_connections 4
	EOT
	chown -R 12345:12345 "$user_dir"
	# It has half a second for it, as the user it has become.
	as_stranger sh -c 'until pkill -STOP -u 12345 -x entstat; do :; done' \
		3>&- &
	place_pids="$place_pids $!"
	run timeout -k 1 10 strace -f -qq -o /dev/null -e trace=setresuid \
		-e inject=setresuid:delay_exit=500000 entstat smc_r0
	[ "$status" -eq 0 ]
	has_line "Connections Handled: 4"
	[ "$(segments)" = 1 ]
	run entstat smc_r0
	[ "$status" -eq 0 ]
	has_line "Connections Handled: 4"
	[ "$(segments)" = 0 ]
}

@test "files that are no segments count nothing and harm nothing" {
	publish
	start_living
	forge_busy
	cd "$user_dir/status"
	echo garbage >1.1
	: >2.2
	truncate -s 1G 3.3
	ln -s "$(ls -- "$living".*)" 4.4
	mkfifo 5.5
	mkdir 6.6
	cp "$living".* 7.7
	cp "$living".* 01.1
	echo garbage >totals
	ln -s totals totals.4712
	run timeout 20 entstat -d smc_r0
	[ "$status" -eq 0 ]
	has_line "Connections Handled: 5"
	[ "$(printf '%s\n' "$output" | grep -c '^ACTIVE')" = 1 ]
}

@test "a program's name cannot write on the terminal" {
	publish
	start_living
	forge <<-EOT
		segment $living
		program $(printf 'a\033[2Jb')
		slot 1 1 1 10.0.0.1 7000 10.0.0.2 40000 1 1 1
	EOT
	run entstat -d smc_r0
	has "a?[2Jb"
	lacks "$(printf '\033')"
}

@test "-j is one JSON object with everything" {
	publish
	start_living
	forge_busy
	run entstat -j smc_r0
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" = 1 ]
	ask() { printf '%s' "$output" | jq -r "$1"; }
	[ "$(ask .device)" = smc_r0 ]
	[ "$(ask .enabled)" = true ]
	[ "$(ask .counters.bytes_sent)" = 1024 ]
	[ "$(ask .now.active)" = 1 ]
	[ "$(ask .now.rmb_limit)" = 67108864 ]
	[ "$(ask '.reasons | length')" = 1 ]
	[ "$(ask '.reasons[0].code')" = 0x03010000 ]
	[ "$(ask '.reasons[0].count')" = 2 ]
	[ "$(ask '.connections | length')" = 2 ]
	[ "$(ask '.connections[0].pids[0]')" = "$living" ]
	[ "$(ask '.connections[0].local.port')" = 7000 ]
	[ "$(ask '.connections[1].peer_reason_code')" = 0x03030000 ]
	[ "$(ask '.link_groups[0].number')" = 3 ]
}

@test "-t says that there is no trace" {
	publish
	run entstat -t smc_r0
	[ "$status" -eq 1 ]
	has "no debug trace"
}

@test "output that cannot be written is an error, and resets nothing" {
	publish
	[ -w /dev/full ] || skip "no /dev/full"
	run sh -c 'entstat -r smc_r0 >/dev/full'
	[ "$status" -eq 1 ]
	has "cannot write"
	[ ! -e "$SMC_R_RUNDIR/baseline" ]
}
