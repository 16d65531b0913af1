#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# no: roce_v2_mode, of type Reboot, and the nextboot file.
# lane: any

load status

setup() {
	export SMC_R_TUNABLES=$BATS_TEST_TMPDIR/tunables
}

@test "-a begins with an empty line and pads the names to 25" {
	run --keep-empty-lines no -a
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "" ]
	[ "${lines[1]}" = "             roce_v2_mode = 0" ]
}

@test "-r -o writes the nextboot file and says when it holds" {
	run no -r -o roce_v2_mode=1
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "Setting roce_v2_mode to 1 in nextboot file" ]
	[ "${lines[1]}" = "Warning: changes will take effect only at next reboot" ]
	[ "$(cat "$SMC_R_TUNABLES/nextboot")" = $'no:\n\troce_v2_mode = "1"' ]
	[ "$(stat -c %a "$SMC_R_TUNABLES/nextboot")" = 644 ]
}

@test "the value of now, of the next start, and of both" {
	no -r -o roce_v2_mode=1
	run no -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 0" ]
	run no -r -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 1" ]
	run no -p -o roce_v2_mode
	[ "$output" = "roce_v2_mode = NONE" ]
	cp "$SMC_R_TUNABLES/nextboot" "$SMC_R_TUNABLES/lastboot"
	run no -p -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 1" ]
}

@test "a Reboot tunable cannot be set for now" {
	for flag in "" -p; do
		# shellcheck disable=SC2086
		run no $flag -o roce_v2_mode=1
		[ "$status" -eq 1 ]
		has "is a Reboot tunable"
		has "no -r -o roce_v2_mode=1"
	done
	[ ! -e "$SMC_R_TUNABLES/nextboot" ]
}

@test "values out of range, words and unknown names change nothing" {
	no -r -o roce_v2_mode=1
	for value in 2 -1 99999999999; do
		run no -r -o roce_v2_mode=$value
		[ "$status" -eq 1 ]
		has "roce_v2_mode could not be set to $value, which is out of range, and was left to its current value (1) instead"
	done
	for value in "" on 1x 0x1 999999999999999999999; do
		run no -r -o roce_v2_mode=$value
		[ "$status" -eq 1 ]
		has "is not a number"
	done
	run no -r -o tcp_sendspace=1
	[ "$status" -eq 1 ]
	has "invalid tunable name tcp_sendspace"
	run no -r -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 1" ]
}

@test "-d and -D bring the default back" {
	no -r -o roce_v2_mode=1
	run no -r -d roce_v2_mode
	[ "$status" -eq 0 ]
	has "Setting roce_v2_mode to 0 in nextboot file"
	no -r -o roce_v2_mode=1
	run no -r -D
	[ "$status" -eq 0 ]
	run no -r -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 0" ]
	# Nothing to do is no error; something that cannot be done is.
	run no -D
	[ "$status" -eq 0 ]
	printf 'no:\n\troce_v2_mode = "1"\n' >"$SMC_R_TUNABLES/lastboot"
	run no -D
	[ "$status" -eq 1 ]
	has "Reboot tunable"
}

@test "-L and -x print the table" {
	no -r -o roce_v2_mode=1
	run no -L
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "NAME                      CUR    DEF    BOOT   MIN    MAX    UNIT           TYPE" ]
	[ "${lines[1]}" = "     DEPENDENCIES" ]
	[ "${lines[3]}" = "roce_v2_mode              0      0      1      0      1      boolean           R" ]
	run no -L roce_v2_mode -x roce_v2_mode
	[ "$status" -eq 0 ]
	has_line "roce_v2_mode,0,0,1,0,1,boolean,R,"
	run no -F -x
	[ "$output" = "roce_v2_mode,0,0,1,0,1,boolean,R," ]
	run no -x none
	[ "$status" -eq 1 ]
}

@test "-h tells about a tunable, -? about the command" {
	run no -h roce_v2_mode
	[ "$status" -eq 0 ]
	has "UDP port 4791"
	has_line "roce_v2_mode              0      0      0      0      1      boolean           R"
	run no '-?'
	[ "$status" -eq 0 ]
	has "Usage: no"
	run no -h
	[ "$status" -eq 0 ]
	has "Usage: no"
}

@test "flags that do not go together print the usage and exit 1" {
	for words in "" "-p -r -a" "-a -o roce_v2_mode" "-r -L" "roce_v2_mode" \
		"-o" "-D -d roce_v2_mode" "-o roce_v2_mode roce_v2_mode" "-z"; do
		# shellcheck disable=SC2086
		run no $words
		[ "$status" -eq 1 ]
		has "Usage: no"
	done
}

@test "lines of others in the nextboot file stay" {
	mkdir "$SMC_R_TUNABLES"
	printf '%s\n' '# kept by hand' vmo: $'\tminperm% = "3"' '' no: \
		$'\ttcp_sendspace = "1048576"' >"$SMC_R_TUNABLES/nextboot"
	no -r -o roce_v2_mode=1
	has_all() { grep -qFx -- "$1" "$SMC_R_TUNABLES/nextboot"; }
	has_all '# kept by hand'
	has_all $'\tminperm% = "3"'
	has_all $'\ttcp_sendspace = "1048576"'
	run no -r -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 1" ]
}

@test "a nextboot file with a wrong value is named with its line" {
	mkdir "$SMC_R_TUNABLES"
	printf 'no:\n\troce_v2_mode = "7"\n' >"$SMC_R_TUNABLES/nextboot"
	run no -a
	[ "$status" -eq 1 ]
	has "no: $SMC_R_TUNABLES/nextboot, line 2: the value is neither DEFAULT nor a number in range"
	run no -r -o roce_v2_mode=1
	[ "$status" -eq 0 ]
}

@test "nothing is put into a nextboot file that cannot be read" {
	mkdir "$SMC_R_TUNABLES"
	echo "garbage {" >"$SMC_R_TUNABLES/nextboot"
	run no -r -o roce_v2_mode=1
	[ "$status" -eq 1 ]
	has "no: $SMC_R_TUNABLES/nextboot, line 1: this is neither the head of a stanza nor an attribute; correct the line, or remove it"
	[ "$(cat "$SMC_R_TUNABLES/nextboot")" = "garbage {" ]
}

@test "a directory that cannot be made is an error that names it" {
	: >"$SMC_R_TUNABLES"
	run no -r -o roce_v2_mode=1
	[ "$status" -eq 1 ]
	has "no: $SMC_R_TUNABLES/nextboot: Not a directory"
}

@test "changes at once lose no line" {
	mkdir "$SMC_R_TUNABLES"
	printf 'no:\n\tx = "1"\n' >"$SMC_R_TUNABLES/nextboot"
	for value in 0 1 0 1 0 1 0 1; do
		no -r -o roce_v2_mode=$value >/dev/null &
	done
	wait
	[ "$(grep -c 'x = "1"' "$SMC_R_TUNABLES/nextboot")" = 1 ]
	[ "$(grep -c roce_v2_mode "$SMC_R_TUNABLES/nextboot")" = 1 ]
	[ "$(find "$SMC_R_TUNABLES" -name '.*' -type f)" = \
		"$SMC_R_TUNABLES/.lock" ]
}

@test "another user can neither stop a change nor open its lock" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	no -r -o roce_v2_mode=1
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" \
		"${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
	setpriv --reuid 12345 --regid 12345 --clear-groups \
		flock -x "$SMC_R_TUNABLES" sleep 30 3>&- &
	until pgrep -P $! -u 12345 sleep >/dev/null; do sleep 0.02; done
	run timeout 5 no -r -o roce_v2_mode=0
	kill "$(pgrep -P $! -u 12345 sleep)" $!
	[ "$status" -eq 0 ]
	run setpriv --reuid 12345 --regid 12345 --clear-groups \
		flock -n "$SMC_R_TUNABLES/.lock" true
	[ "$status" -ne 0 ]
	has "Permission denied"
}

@test "a lock that others could hold, or that is held, is named" {
	no -r -o roce_v2_mode=1
	flock "$SMC_R_TUNABLES/.lock" sleep 30 3>&- &
	until pgrep -P $! sleep >/dev/null; do sleep 0.02; done
	run no -r -o roce_v2_mode=0
	kill "$(pgrep -P $! sleep)" $!
	[ "$status" -eq 1 ]
	has "no: $SMC_R_TUNABLES/.lock: another command has held this lock"
	chmod 644 "$SMC_R_TUNABLES/.lock"
	run no -r -o roce_v2_mode=0
	[ "$status" -eq 1 ]
	has "no: $SMC_R_TUNABLES/.lock: other users could hold this lock"
	run no -r -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 1" ]
}
