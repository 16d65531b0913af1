#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# system_preload: our line in ld.so.preload, and nothing else of that file.

# Each test has an environment of its own:
# shellcheck disable=SC2030,SC2031

load device
load safe
: "${safe-}"

setup() {
	device_setup
	make_safe
	file=$SMC_R_LDPRELOAD_FILE
	export SMC_R_LIBRARY=$safe/lib/libsmc_r.so
	mkdir "$safe/lib"
	echo "the library" >"$SMC_R_LIBRARY"
	make_device
}

teardown() {
	device_teardown
	[ -z "${safe-}" ] || rm -rf "$safe"
}

on() {
	says "smc_r0 changed" chdev -l smc_r0 -a system_preload=1
	[ "$(grep -cFx "$SMC_R_LIBRARY" "$file")" -eq 1 ]
	[ "$(published system_preload)" = 1 ]
}

@test "the line comes and goes with the attribute" {
	[ ! -e "$file" ]
	on
	[ "$(cat "$file")" = "$SMC_R_LIBRARY" ]
	[ "$(stat -c %a "$file")" = 644 ]
	says "smc_r0 changed" chdev -l smc_r0 -a system_preload=0
	[ ! -e "$file" ]
	[ "$(published system_preload)" = 0 ]
}

@test "other lines stay, byte for byte" {
	printf '/usr/lib/a.so  /b.so\n\n# c\n\t/d.so' >"$file"
	chmod 640 "$file"
	cp -p "$file" "$BATS_TEST_TMPDIR/before"
	on
	tail -n +2 "$file" | cmp - "$BATS_TEST_TMPDIR/before"
	[ "$(stat -c %a "$file")" = 640 ]
	on
	chdev -q -l smc_r0 -a system_preload=0
	cmp "$file" "$BATS_TEST_TMPDIR/before"
	[ "$(stat -c %a "$file")" = 640 ]
}

@test "rmdev takes it away, mkdev brings it back" {
	on
	says "smc_r0 Defined" rmdev -l smc_r0
	[ ! -e "$file" ]
	says "smc_r0 Available" mkdev -l smc_r0
	[ "$(cat "$file")" = "$SMC_R_LIBRARY" ]
	says "smc_r0 deleted" rmdev -dl smc_r0
	[ ! -e "$file" ]
}

@test "-P leaves it for later, -T does it now" {
	chdev -q -P -l smc_r0 -a system_preload=1
	[ ! -e "$file" ]
	chdev -q -T -l smc_r0 -a system_preload=1
	[ -e "$file" ]
	chdev -q -T -l smc_r0 -a system_preload=0
	[ ! -e "$file" ]
	rmdev -q -l smc_r0
	mkdev -q -l smc_r0
	[ -e "$file" ]
}

@test "a library that is not there is never named" {
	rm "$SMC_R_LIBRARY"
	refused chdev -l smc_r0 -a system_preload=1
	has "$SMC_R_LIBRARY"
	[ ! -e "$file" ]
	mkdir "$SMC_R_LIBRARY"
	refused chdev -l smc_r0 -a system_preload=1
	rmdir "$SMC_R_LIBRARY"
	refused mkdev -q -c tcpip -t smc_r || true
	[ ! -e "$file" ]
}

@test "it can be taken away when the library is gone" {
	on
	rm "$SMC_R_LIBRARY"
	says "smc_r0 Defined" rmdev -l smc_r0
	[ ! -e "$file" ]
	refused mkdev -l smc_r0
	[ ! -e "$file" ]
}

@test "a library that others could replace is refused" {
	chmod 666 "$SMC_R_LIBRARY"
	refused chdev -l smc_r0 -a system_preload=1
	has "others may write"
	[ ! -e "$file" ]
}

# A directory is named, with the cure, and nothing else has happened.
refused_for() { # directory
	refused chdev -l smc_r0 -a system_preload=1
	has "$1: others may write to this directory"
	has "chown root, chmod go-w"
	[ ! -e "$file" ]
}

@test "a directory above the library that others may write is refused" {
	local mode
	for mode in 775 757 1777; do
		chmod "$mode" "$safe"
		refused_for "$safe"
		chmod 755 "$safe"
		chmod "$mode" "$safe/lib"
		refused_for "$safe/lib"
		chmod 755 "$safe/lib"
	done
	if [ "$(id -u)" -eq 0 ]; then
		chown 12345 "$safe"
		refused_for "$safe"
		chown 0 "$safe"
	fi
	on
}

@test "a path that the loader would split is refused" {
	mkdir "$safe/with blank"
	export SMC_R_LIBRARY="$safe/with blank/libsmc_r.so"
	echo "the library" >"$SMC_R_LIBRARY"
	refused chdev -l smc_r0 -a system_preload=1
	has "without blanks"
}

@test "a library that moved is named once, in its new place" {
	on
	local old=$SMC_R_LIBRARY
	mkdir "$safe/new"
	export SMC_R_LIBRARY=$safe/new/libsmc_r.so
	mv "$old" "$SMC_R_LIBRARY"
	says "smc_r0 changed" chdev -l smc_r0
	[ "$(cat "$file")" = "$SMC_R_LIBRARY" ]
}

@test "a symbolic link stays one" {
	echo /a.so >"$BATS_TEST_TMPDIR/real"
	ln -s real "$file"
	on
	[ -L "$file" ]
	[ "$(cat "$BATS_TEST_TMPDIR/real")" = "$SMC_R_LIBRARY
/a.so" ]
	chdev -q -l smc_r0 -a system_preload=0
	[ -L "$file" ]
	[ "$(cat "$BATS_TEST_TMPDIR/real")" = /a.so ]
}

@test "a later step that fails puts the old file back" {
	need_root
	printf '/a.so' >"$file"
	cp -p "$file" "$BATS_TEST_TMPDIR/before"
	command -v strace >/dev/null || skip "needs strace"
	run strace -qq -o /dev/null -e trace=renameat \
		-e inject=renameat:error=EIO chdev -l smc_r0 -a system_preload=1
	[ "$status" -eq 1 ]
	cmp "$file" "$BATS_TEST_TMPDIR/before"
	on
	run strace -qq -o /dev/null -e trace=unlinkat \
		-e inject=unlinkat:error=EIO rmdev -l smc_r0
	[ "$status" -eq 1 ]
	[ "$(head -n 1 "$file")" = "$SMC_R_LIBRARY" ]
	[ "$(stored system_preload)" = 1 ]
	[ "$(published system_preload)" = 1 ]
}

@test "a change of something else leaves the file alone" {
	on
	local before
	before=$(stat -c '%i %Y' "$file")
	chdev -q -l smc_r0 -a enabled=1
	[ "$before" = "$(stat -c '%i %Y' "$file")" ]
}

@test "another device does not take the line away" {
	on
	ODMDIR=$BATS_TEST_TMPDIR/other SMC_R_RUNDIR=$BATS_TEST_TMPDIR/other-run \
		mkdev -q -c tcpip -t smc_r
	ODMDIR=$BATS_TEST_TMPDIR/other SMC_R_RUNDIR=$BATS_TEST_TMPDIR/other-run \
		rmdev -q -dl smc_r0
	[ "$(cat "$file")" = "$SMC_R_LIBRARY" ]
}

@test "the line is still ours when the run directory was lost" {
	on
	rm -rf "$SMC_R_RUNDIR"
	says "smc_r0 changed" chdev -l smc_r0 -a system_preload=0
	[ ! -e "$file" ]
}

@test "a command that was killed leaves a line that the next one takes away" {
	need_root
	command -v strace >/dev/null || skip "needs strace"
	local call
	printf '/a.so' >"$file"
	cp "$file" "$BATS_TEST_TMPDIR/before"
	for call in renameat rename fsync unlinkat; do
		run strace -qq -o /dev/null -e "trace=$call" \
			-e "inject=$call:signal=KILL" \
			chdev -l smc_r0 -a system_preload=1
		[ "$status" -eq 137 ]
		says "smc_r0 changed" chdev -l smc_r0 -a system_preload=0
		cmp "$file" "$BATS_TEST_TMPDIR/before"
		run strace -qq -o /dev/null -e "trace=$call" \
			-e "inject=$call:signal=KILL" \
			chdev -l smc_r0 -a system_preload=1
		says "smc_r0 Defined" rmdev -l smc_r0
		cmp "$file" "$BATS_TEST_TMPDIR/before"
		says "smc_r0 Available" mkdev -l smc_r0
	done
}

@test "a file system without room is named, and nothing is changed" {
	need_root
	local small=$BATS_TEST_TMPDIR/small
	mkdir "$small"
	mount -t tmpfs -o size=8k tmpfs "$small" || skip "no tmpfs"
	export SMC_R_LDPRELOAD_FILE=$small/ld.so.preload
	echo /a.so >"$SMC_R_LDPRELOAD_FILE"
	head -c 100000 /dev/zero >"$small/rest" 2>/dev/null || true
	run chdev -l smc_r0 -a system_preload=1
	cp "$SMC_R_LDPRELOAD_FILE" "$BATS_TEST_TMPDIR/after"
	ls "$small" >"$BATS_TEST_TMPDIR/list"
	umount "$small"
	[ "$status" -eq 1 ]
	has "the /etc filesystem is full"
	[ "$(cat "$BATS_TEST_TMPDIR/after")" = /a.so ]
	[ "$(cat "$BATS_TEST_TMPDIR/list")" = "ld.so.preload
rest" ]
	[ "$(stored system_preload)" = 0 ]
	[ "$(published system_preload)" = 0 ]
}

@test "where /etc is full, or read-only, the switch can be turned off" {
	need_root
	local etc=$BATS_TEST_TMPDIR/etc way
	rmdev -q -dl smc_r0
	mkdir "$etc"
	mount -t tmpfs -o size=512k tmpfs "$etc" || skip "no tmpfs"
	export ODMDIR=$etc/objrepos SMC_R_LDPRELOAD_FILE=$etc/ld.so.preload
	file=$SMC_R_LDPRELOAD_FILE
	for way in full read-only; do
		echo "$way"
		make_device -a enabled=1
		echo /a.so >"$file"
		on
		case $way in
		full) cat /dev/zero >"$etc/rest" 2>/dev/null || true ;;
		*) mount -o remount,ro "$etc" ;;
		esac
		run chdev -l smc_r0 -a system_preload=0
		[ "$status" -eq 1 ]
		has "rmdev -l smc_r0 turns SMC-R off without it"
		[ "$(published system_preload)" = 1 ]
		run rmdev -l smc_r0
		[ "$status" -eq 0 ]
		[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
		if [ "$way" = full ]; then
			! grep -q libsmc_r "$file"
			grep -q '^/a.so' "$file"
		else
			has "its line is left in $file"
		fi
		mount -o remount,rw "$etc"
		rm -f "$etc/rest"
		rmdev -q -dl smc_r0
		[ "$(tr -d '\n ' <"$file")" = /a.so ]
	done
	umount "$etc"
}
