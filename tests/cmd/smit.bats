#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# smit: keys go in, screens come out, in a terminal of tmux.
# lane: any

load device

setup() {
	command -v tmux >/dev/null || skip "no tmux"
	device_setup
	place=$(mktemp -d)
	export HOME=$place/home OFED_CORE_RUNDIR=$place/ofed
	export OFED_CONF=$place/ofed.conf LC_ALL=C.UTF-8
	unset TMUX
	mkdir "$HOME"
	log=$HOME/smit.log script=$HOME/smit.script
}

teardown() {
	[ -n "${place-}" ] || return 0
	pane kill-server 2>/dev/null || true
	device_teardown
	rm -rf "$place"
}

pane() { # command of tmux, arguments...
	tmux -S "$place/socket" -f /dev/null "$@"
}

# A shell in a terminal of that size, in which smit is typed.
terminal() { # columns, rows, TERM
	pane new-session -d -x "${1:-80}" -y "${2:-24}" \
		"ulimit -c 0; PS1='ready '; export PS1; ${3:+TERM=$3; export TERM;} exec sh"
	shows "ready"
}

begin() { # arguments of smit
	[ -S "$place/socket" ] || terminal
	type_in "smit $*"
	press Enter
}

press() { # keys, as tmux calls them
	pane send-keys "$@"
}

type_in() { # text
	pane send-keys -l "$1"
}

picture_of() {
	pane capture-pane -p
}

# shows TEXT: it comes onto the screen within 10 s.
shows() {
	local i
	for ((i = 0; i < 200; i++)); do
		[[ $(picture_of) != *"$1"* ]] || return 0
		sleep 0.05
	done
	printf 'no "%s" on the screen:\n%s\n' "$1" "$(picture_of)"
	return 1
}

# lacks TEXT: it goes from the screen within 10 s.
lacks() {
	local i
	for ((i = 0; i < 200; i++)); do
		[[ $(picture_of) == *"$1"* ]] || return 0
		sleep 0.05
	done
	printf '"%s" stays on the screen:\n%s\n' "$1" "$(picture_of)"
	return 1
}

# is_screen: the screen is what standard input says, to the character.
is_screen() {
	diff - <(picture_of)
}

@test "smit smcr: a menu as on AIX" {
	begin smcr
	shows "Enter=Do"
	is_screen <<-'END'
	                 Shared Memory Communications over RDMA (SMC-R)

	Move cursor to desired item and press Enter.

	  List All SMC-R Devices
	  Add an SMC-R Device
	  Change / Show Characteristics of an SMC-R Device
	  Remove an SMC-R Device
	  Configure a Defined SMC-R Device
	  Show Statistics of an SMC-R Device












	F1=Help             F2=Refresh          F3=Cancel           F8=Image
	F9=Shell            F10=Exit            Enter=Do
	END
}

@test "smit lssmcr: without a device it says so" {
	begin lssmcr
	shows "There is no SMC-R device; mkdev -c tcpip -t smc_r makes one."
	press F10
	shows ready
	make_device
	begin lssmcr
	shows "smc_r0 Available"
	[[ $(picture_of) != *"There is no"* ]]
}

@test "smit mksmcr: a dialog as on AIX; Enter makes the device" {
	begin mksmcr
	shows "Enter=Do"
	is_screen <<-'END'
	                              Add an SMC-R Device

	Type or select values in entry fields.
	Press Enter AFTER making all desired changes.

	                                                        [Entry Fields]
	  ENABLE SMC-R                                        no                     +
	  IP ADDRESSES of SMC-R interfaces                   []                      +
	  MAXIMUM MEMORY for SMC-R (MB)                      [1024]                  +#
	  SERVER PORTS that use SMC-R                        []                      +
	  LEAVE short connections to TCP                      yes                    +
	  LOAD SMC-R into every program                       no                     +
	  PROGRAMS that never use SMC-R                      [sshd]                  +
	  CONFIGURE the device now?                           yes                    +







	F1=Help             F2=Refresh          F3=Cancel           F4=List
	F5=Reset            F6=Command          F7=Edit             F8=Image
	F9=Shell            F10=Exit            Enter=Do
	END
	press Tab Down
	type_in 127.0.0.1
	press Enter
	shows "Command: OK"
	is_screen <<-'END'
	                                 COMMAND STATUS

	Command: OK            stdout: yes           stderr: no

	Before command completion, additional instructions may appear below.

	smc_r0 Available














	F1=Help             F2=Refresh          F3=Cancel           F6=Command
	F8=Image            F9=Shell            F10=Exit            /=Find
	n=Find Next
	END
	[ "$(stored enabled)" = 1 ]
	[ "$(stored ip_addr_list)" = 127.0.0.1 ]
	[ "$(tail -n 1 "$script")" = \
		"mkdev -c tcpip -t smc_r -a enabled=1 -a ip_addr_list='127.0.0.1'" ]
}

@test "every fast path leads to its screen, and smitty is smit" {
	local path title
	make_device
	terminal
	while IFS=: read -r path title; do
		echo "$path"
		type_in "smitty $path"
		press Enter
		shows "$title"
		press F10
		shows "ready"
		type_in "clear"
		press Enter
		lacks "$title"
	done <<-'END'
	:System Management
	smcr:Add an SMC-R Device
	mksmcr:CONFIGURE the device now
	chsmcr:SMC-R Device to Change / Show
	rmsmcr:SMC-R Device to Remove
	smcrstat:RESET the counters afterwards
	ofed:Unload the RDMA Core
	chroce:RoCE VERSION 2
	lsrdma:EXTENDED GID
	lsofed:ofed_core kernel ext : not loaded
	chofed:The list is empty
	mkdev:CONFIGURE the device now
	lsdev:smc_r0 Available
	END
}

@test "change, statistics, remove; and the script does it all again" {
	make_device
	begin smcr
	shows "Move cursor"
	press Down Down Enter
	shows "smc_r0 Available Shared"
	press Enter
	shows "APPLY change to"
	press Down Down Down C-u
	type_in 64
	press Enter
	shows "smc_r0 changed"
	[ "$(stored max_memory)" = 64 ]
	# What was sent is not sent again, and what is changed back is.
	press F3
	shows "APPLY change to"
	press C-u
	type_in 1024
	press F6
	shows "chdev -l 'smc_r0' -a max_memory='1024'"
	press F3 F3
	lacks "APPLY change to"
	press Down Down Down Enter
	shows "RESET the counters"
	press Tab Enter
	shows "ETHERNET STATISTICS"
	press F3 F3
	lacks "COMMAND STATUS"
	press Up Up Enter
	shows "SMC-R Device to Remove"
	press Enter
	shows "KEEP definition"
	press Enter
	shows "ARE YOU SURE?"
	press F3
	lacks "ARE YOU SURE?"
	lsdev -l smc_r0 | grep -q Available
	press Enter
	shows "ARE YOU SURE?"
	press Enter
	shows "smc_r0 deleted"
	press F10
	shows "ready"
	grep -v '^#' "$script" >"$place/commands"
	diff - "$place/commands" <<-'END'
	chdev -l 'smc_r0' -a max_memory='64'
	entstat -d 'smc_r0'
	rmdev -l 'smc_r0' -d
	END
	make_device
	sh "$script" >"$place/again"
	grep -q "smc_r0 changed" "$place/again"
	[ "$(tail -n 1 "$place/again")" = "smc_r0 deleted" ]
}

@test "every key of a dialog, by function keys and by Esc and a digit" {
	local f
	make_device
	begin -t chsmcr
	shows "smc_r0 Available"
	press Enter
	shows "APPLY change to"
	# Esc and the digit are two keys.
	# shellcheck disable=SC2086
	for f in F "Escape "; do
		press Down
		press ${f}1
		shows "The master switch"
		press ${f}3
		lacks "The master switch"
		press Tab
		shows "ENABLE SMC-R                                        yes"
		press BTab BTab
		shows "ENABLE SMC-R                                        yes"
		press ${f}5
		shows "ENABLE SMC-R                                        no"
		press ${f}2
		press ${f}4
		shows "Find Next"
		press Down Enter
		shows "ENABLE SMC-R                                        yes"
		press ${f}6
		shows "chdev -l 'smc_r0' -a enabled=1"
		press Enter
		lacks "SHOW COMMAND"
		press Down Down ${f}7
		shows " EDIT "
		type_in 5
		press Enter
		shows "[10245]"
		press ${f}5
		shows "[1024]"
		press Up Up
		press ${f}8
		shows "fast path of this screen is: chsmcr"
		press Enter
		lacks "PRINT SCREEN"
		press ${f}9
		shows "Type exit"
		press -l "echo in; exit"
		press Enter
		shows "APPLY change to"
		press ${f}5 Up
		shows "ENABLE SMC-R                                        no"
	done
	[ "$(grep -c "Type or select values" "$log")" -eq 2 ]
	grep -q "^lsattr -E -O .* -l 'smc_r0'$" "$log"
	press Escape 0
	shows "ready"
}

@test "lists are live; of some one or more can be taken" {
	make_device
	begin chsmcr
	shows "smc_r0 Available"
	press Enter
	shows "APPLY change to"
	press Down Down F4
	shows "│   127.0.0.1 lo"
	press F7
	shows "> 127.0.0.1"
	press / ::1 Enter F7 Enter
	shows "[127.0.0.1,::1]"
	press Down F4
	shows "16...65536 (+1)"
	press F3
	lacks "RANGE"
	press Down Down Down Down F4
	shows "PROGRAMS that never"
	# What the field has and the list does not stays.
	press / "tmux: server" Enter F7 Enter
	shows "[sshd,tmux: server]"
	press F10
	shows "ready"
}

@test "what is wrong with a field stands at the field" {
	make_device
	begin chsmcr
	shows "smc_r0 Available"
	press Enter
	shows "APPLY change to"
	press Down Down Down C-u
	type_in 7
	press Enter
	shows "^ 7 is not in 16...65536 (+1)."
	press BSpace
	lacks "^ 7"
	# A letter does not come into it. The fields below are seen all the same.
	type_in m
	shows "^ Only a number can be typed here."
	shows "SERVER PORTS that use SMC-R"
	press BSpace
	lacks "^ Only"
	shows "MAXIMUM MEMORY for SMC-R (MB)                      []"
	type_in 1-
	press Enter
	shows '^ "1-" is not a number.'
	press F5 Up
	type_in 1.2.3
	press Enter
	shows "Command: failed        stdout: no            stderr: yes"
	press F3
	# The command said so.
	shows '^ ip_addr_list: not an IP address: "1.2.3"'
	[ "$(stored max_memory)" = 1024 ]
}

@test "no value becomes a command, neither now nor in the script" {
	make_device
	begin chsmcr
	shows "smc_r0 Available"
	press Enter
	shows "APPLY change to"
	press Down Down Down Down
	type_in "1'; touch $place/evil; \$(touch $place/evil) \`touch $place/evil\` '"
	press Enter
	shows "Command: failed"
	press F10
	shows "ready"
	run sh "$script"
	[ "$status" -ne 0 ]
	[ ! -e "$place/evil" ]
}

@test "-x logs and does not run; -l and -s name the files" {
	make_device
	begin -C -x -l "$place/a.log" -s "$place/a.script" rmsmcr
	shows "smc_r0 Available"
	press Enter
	shows "KEEP definition"
	press Down Tab Enter
	shows "ARE YOU SURE?"
	press Enter
	shows "Command: not run"
	press F10
	shows "ready"
	lsdev -l smc_r0 | grep -q Available
	grep -q "rmdev -l 'smc_r0'$" "$place/a.script"
	grep -q "rmdev -l 'smc_r0'$" "$place/a.log"
	[ ! -e "$log" ] && [ ! -e "$script" ]
	[ "$(stat -c %a "$place/a.log")" = 600 ]
}

@test "132x50, smaller, too small, and back: the screen follows, values stay" {
	make_device
	terminal 132 50
	begin mksmcr
	shows "Enter=Do"
	[ "$(picture_of | tail -n 1)" = \
		"F9=Shell            F10=Exit            Enter=Do" ]
	press Down
	type_in fe80::1234:5678:9abc:def0,127.0.0.1
	shows "[fe80::1234:5678:9abc:def0,127.0.0.1]"
	pane resize-window -x 80 -y 24
	shows "<:9abc:def0,127.0.0.1 ]"
	pane resize-window -x 60 -y 10
	shows "60x10 is too small: at least 80x24"
	pane resize-window -x 132 -y 50
	shows "[fe80::1234:5678:9abc:def0,127.0.0.1]"
	press F6
	shows "SHOW COMMAND"
	pane resize-window -x 80 -y 24
	shows "ip_addr_list='fe80::1234:5678:9abc:def0,127.0.0.1'"
	press F3
	shows "CONFIGURE the device now?"
}

@test "vt100 is enough; a dumb terminal and none are told in a line" {
	local type
	terminal 80 24 vt100
	begin smcr
	shows "Move cursor"
	press Escape 3
	# It has one screen, on which nothing of ours stays.
	lacks "Esc+3=Cancel"
	[ "$(picture_of | tr -d ' \n')" = ready ]
	begin smcr
	shows "Move cursor"
	kill -TERM "$(pgrep -f "^smit smcr$" \
		-P "$(pane list-panes -F '#{pane_pid}')")"
	shows "ready"
	lacks "Esc+3=Cancel"
	for type in dumb nosuch ''; do
		run script -qec "TERM=$type smit smcr" /dev/null
		echo "$output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		has "terminal"
	done
	run smit smcr </dev/null
	[ "$status" -eq 1 ]
	[ "$output" = \
		"smit: standard input and output must be a terminal." ]
}

@test "the terminal is given back, whatever ends smit" {
	local way
	terminal
	type_in "stty -g >$place/before; clear"
	press Enter
	for way in F10 F3 TERM INT HUP QUIT SEGV; do
		echo "$way"
		rm -f "$place/after"
		begin smcr
		shows "Move cursor"
		case $way in
		F*) press "$way" ;;
		*) kill -"$way" "$(pgrep -f "^smit smcr$" \
			-P "$(pane list-panes -F '#{pane_pid}')")" ;;
		esac
		shows "ready"
		type_in "stty -g >$place/after"
		press Enter
		wait_file "$place/after"
		cmp "$place/before" "$place/after"
		[ "$(pane list-panes -F \
			'#{alternate_on} #{keypad_flag} #{cursor_flag}')" = \
			"0 0 1" ]
		type_in clear
		press Enter
		lacks smcr
	done
}

wait_file() {
	local i
	for ((i = 0; i < 100; i++)); do
		[ ! -s "$1" ] || return 0
		sleep 0.05
	done
	return 1
}

@test "screens of others: many fields, long output, ^C, bytes that harm" {
	mkdir "$place/conf"
	cp "$SMC_R_TOP/conf/smc_r.stanza" "$place/conf"
	{
		printf 'sm_cmd_hdr:\n\tid = "x"\n\toption_id = "o"\n'
		printf '\tname = "Many"\n\tcmd_to_exec = "run"\n\n'
		printf 'sm_menu_opt:\n\tid = "m"\n\tid_seq_num = "0"\n'
		printf '\ttext = "Menu"\n\n'
		for i in {100..139}; do
			printf 'sm_cmd_opt:\n\tid = "o"\n\tid_seq_num = "%s"\n' "$i"
			printf '\tname = "field %s"\n\tentry_type = "t"\n\n' "$i"
		done
	} >"$place/conf/smit.stanza"
	mkdir "$place/bin"
	cat >"$place/bin/run" <<-'END'
	#!/bin/sh
	printf 'a\033[2Jb\tc\n'
	seq 100 149
	case $1 in wait) sleep 60 ;; esac
	exit 3
	END
	chmod 755 "$place/bin/run"
	export SMC_R_CONFDIR=$place/conf PATH=$place/bin:$PATH
	begin x
	shows "[TOP]"
	shows "[MORE...27]"
	press PPage NPage NPage NPage NPage
	shows "[BOTTOM]"
	shows "field 139"
	type_in wait
	press Enter
	shows "Command: running"
	shows "149"
	press C-c
	shows "Command: failed"
	shows "a?[2Jb  c"
	shows "[MORE...38]"
	press / 14 Enter
	shows "126"
	press n
	lacks "126"
	press End
	shows "[BOTTOM]"
	grep -q "ended with signal 2" "$log"
}

@test "-h, --version, and what cannot be" {
	run smit -h
	[ "$status" -eq 0 ]
	has "smit [-C] [-x] [-t] [-l File] [-s File] [FastPath]"
	run smitty --version
	[ "$status" -eq 0 ]
	[[ $output == "smitty (smc_r) "?* ]]
	run smit nosuch
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	has 'there is no fast path "nosuch"'
	run smit -z
	[ "$status" -eq 1 ]
	run smit a b
	[ "$status" -eq 1 ]
	# A log that leads elsewhere, as others might have put it there.
	ln -s "$place/elsewhere" "$log"
	run script -qec "TERM=xterm smit smcr" /dev/null
	[ "$status" -eq 1 ]
	has "smit.log: it is a link. Name another file with -l."
	[ ! -e "$place/elsewhere" ]
}
