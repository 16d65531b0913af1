#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 400
# The database and the snapshot agree, whatever happens around a change.

# Each test has an environment of its own:
# shellcheck disable=SC2030,SC2031

load device
load safe
: "${database-}" "${living-}"

setup() {
	device_setup
	make_device
}

teardown() {
	[ -z "${mounted-}" ] || umount "$mounted" || true
	device_teardown
	[ -z "${safe-}" ] || rm -rf "$safe"
}

# What is stored is what is published.
agree() {
	[ "$(published enabled)" = "$(stored enabled)" ]
	[ "$(published port_range_list | tr ' ' ,)" = \
		"$(stored port_range_list)" ]
	[ "$(published ip_addr_list | tr ' ' ,)" = "$(stored ip_addr_list)" ]
	[ "$(published exclude_list | tr ' ' ,)" = "$(stored exclude_list)" ]
	[ "$(published max_memory_bytes)" = \
		$(($(stored max_memory) * 1024 * 1024)) ]
}

@test "32 processes at once lose nothing" {
	local i pids=
	for ((i = 0; i < 32; i++)); do
		# Every one moves all the attributes to values of its own.
		chdev -l smc_r0 -a "port_range_list=$((1000 + i))" \
			-a "max_memory=$((100 + i))" -a "exclude_list=p$i" \
			-a enabled=$((i % 2)) >"$BATS_TEST_TMPDIR/$i" 2>&1 3>&- &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i"
	done
	# On a busy machine some are told that they wait.
	[ "$(cat "$BATS_TEST_TMPDIR"/[0-9]* | grep -v "note: another" | sort |
		uniq -c |
		tr -s ' ')" = " 32 smc_r0 changed" ]
	agree
	# One of them was last, with all of its values.
	i=$(($(stored port_range_list) - 1000))
	[ "$(stored max_memory)" = $((100 + i)) ]
	[ "$(stored exclude_list)" = "p$i" ]
	[ "$(stored enabled)" = $((i % 2)) ]
	# Each publication has a generation of its own, and the history is a
	# chain: what one found is what the one before had left.
	[ "$(published generation)" = 33 ]
	run sqlite3 "$database" "SELECT count(*) FROM history
		WHERE attribute = 'port_range_list'"
	[ "$output" = 32 ]
	run sqlite3 "$database" "SELECT count(*) FROM
		(SELECT old, lag(new, 1, '') OVER (ORDER BY id) AS before
		FROM history WHERE attribute = 'port_range_list')
		WHERE old <> before"
	[ "$output" = 0 ]
}

@test "readers always see a whole state while others write" {
	local line seen=0 enough=$BATS_TEST_TMPDIR/enough
	(while [ ! -e "$enough" ]; do
		chdev -q -l smc_r0 -a max_memory=100 -a port_range_list=100 \
			-a exclude_list=a100
		chdev -q -l smc_r0 -a max_memory=200 -a port_range_list=200 \
			-a exclude_list=a200
	done) 3>&- &
	local writer=$!
	place_pids="$place_pids $writer"
	while [ $seen -lt 40 ]; do
		line=$(lsattr -E -l smc_r0 -a max_memory -a port_range_list \
			-a exclude_list -F value | tr '\n' ' ')
		case $line in
		"a100 100 100 " | "a200 200 200 " | "sshd 1024  ") ;;
		*) printf 'torn: %s\n' "$line" && false ;;
		esac
		line=$(cat "$SMC_R_RUNDIR/smc_r0")
		[ "${line##*
}" = end ]
		seen=$((seen + 1))
	done
	touch "$enough"
	wait "$writer"
	agree
}

@test "a locked database is waited for, then 0514-516 and no change" {
	coproc holder { sqlite3 "$database"; }
	# shellcheck disable=SC2154
	place_pids="$place_pids $holder_PID"
	{
		echo "BEGIN IMMEDIATE;"
		echo ".shell touch $BATS_TEST_TMPDIR/locked"
	} >&"${holder[1]}"
	until [ -e "$BATS_TEST_TMPDIR/locked" ]; do sleep 0.05; done
	for command in "chdev -l smc_r0 -a enabled=1" "rmdev -l smc_r0" \
		"mkdev -l smc_r0"; do
		# shellcheck disable=SC2086
		SMC_R_LOCK_WAIT=0 refused $command
		has " 0514-516 "
	done
	# The waiting command gets it when the other is done.
	chdev -l smc_r0 -a enabled=1 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	local waiter=$!
	echo "ROLLBACK;" >&"${holder[1]}"
	wait "$waiter"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "smc_r0 changed" ]
	agree
}

# Fills the file system until not a byte is free.
fill() { # directory
	cat /dev/zero >"$1/filler" 2>/dev/null || true
}

need_mount() { # directory, size
	need_root
	mkdir -p "$1"
	mount -t tmpfs -o "size=$2" none "$1" 2>/dev/null || skip "cannot mount"
	mounted=$1
}

@test "a full database file system is 0514-548, and nothing changes" {
	need_mount "$BATS_TEST_TMPDIR/small" 512k
	export ODMDIR=$BATS_TEST_TMPDIR/small
	rmdev -q -dl smc_r0 || true
	rm -rf "$SMC_R_RUNDIR"
	make_device -a enabled=1
	fill "$ODMDIR"
	refused chdev -l smc_r0 -a max_memory=64
	has "chdev: 0514-548 Cannot perform the requested function because the"
	has "filesystem is full"
	refused rmdev -dl smc_r0
	has "0514-548"
	has "rmdev -l smc_r0 turns SMC-R off without it"
	agree
	# The switch can still be turned off.
	run rmdev -l smc_r0
	[ "$status" -eq 0 ]
	has "0514-548"
	has "smc_r0 is out of service"
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
	says Defined lsdev -C -l smc_r0 -F status
	rm "$ODMDIR/filler"
	says "smc_r0 Available" mkdev -l smc_r0
	says "smc_r0 changed" chdev -l smc_r0 -a max_memory=64
	agree
	rmdev -q -dl smc_r0
}

@test "a read-only database: rmdev -l turns off, and the others say so" {
	local words
	need_mount "$BATS_TEST_TMPDIR/small" 512k
	export ODMDIR=$BATS_TEST_TMPDIR/small
	make_device -a enabled=1
	mount -o remount,ro "$ODMDIR"
	for words in "rmdev -dl smc_r0" "chdev -l smc_r0 -a enabled=0" \
		"mkdev -l smc_r0" "odmdelete -o CuAt" cfgmgr; do
		# shellcheck disable=SC2086
		refused $words
		has "attr.db: Read-only file system. Mount its"
		has "rmdev -l smc_r0 turns SMC-R off without it"
	done
	# It may be asked for once more.
	for words in first again; do
		run --separate-stderr rmdev -l smc_r0
		[ "$status" -eq 0 ]
		[ "$output" = "smc_r0 Defined" ]
		# shellcheck disable=SC2154 # bats sets it
		output=$stderr
		has "smc_r0 is out of service; the database is as it was"
	done
	run rmdev -l nosuch0
	[ "$status" -eq 1 ]
	mount -o remount,rw "$ODMDIR"
	rmdev -q -dl smc_r0
}

@test "a full run directory is 0514-548, and nothing changes" {
	need_mount "$BATS_TEST_TMPDIR/small" 64k
	rmdev -q -l smc_r0
	export SMC_R_RUNDIR=$BATS_TEST_TMPDIR/small/run
	mkdev -q -l smc_r0
	fill "$BATS_TEST_TMPDIR/small"
	refused chdev -l smc_r0 -a max_memory=64
	has "0514-548"
	agree
	rm "$BATS_TEST_TMPDIR/small/filler"
	rmdev -q -dl smc_r0
	rm -rf "$SMC_R_RUNDIR"
	# No room for the generation file: no device, and no mapping that kills.
	fill "$BATS_TEST_TMPDIR/small"
	run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	rm -rf "$BATS_TEST_TMPDIR"/small/*
}

@test "a newer schema is refused by every command, with the cure" {
	sqlite3 "$database" "PRAGMA user_version = 99"
	local before
	before=$(md5sum "$database" "$SMC_R_RUNDIR/smc_r0")
	for command in "mkdev -c tcpip -t smc_r" "mkdev -l smc_r0" \
		"chdev -l smc_r0 -a enabled=1" "rmdev -dl smc_r0" \
		"lsattr -E -l smc_r0" "lsdev -C" "odmget CuDv"; do
		# shellcheck disable=SC2086
		run $command
		[ "$status" -eq 1 ]
		has "0514-001"
		[ "$(tr -s '\n\t ' ' ' <<<"$output" |
			grep -c 'schema version 99, this program knows up to')" -eq 1 ]
	done
	[ "$before" = "$(md5sum "$database" "$SMC_R_RUNDIR/smc_r0")" ]
}

@test "a damaged database is named, and not written to" {
	head -c 20000 /dev/urandom >"$database"
	local before
	before=$(md5sum "$database")
	for command in "chdev -l smc_r0 -a enabled=1" "lsattr -E -l smc_r0"; do
		# shellcheck disable=SC2086
		run $command
		[ "$status" -eq 1 ]
		has "0514-001"
		has "attr.db"
	done
	[ "$before" = "$(md5sum "$database")" ]
	# As the message says; and what is left of the device goes with it.
	mv "$database" "$BATS_TEST_TMPDIR/moved"
	says "smc_r0 Undefined" rmdev -l smc_r0
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
}

@test "a device goes out of service with a damaged database" {
	head -c 20000 /dev/urandom >"$database"
	run rmdev -l smc_r0
	[ "$status" -eq 0 ]
	has "attr.db: file is not a database. Put a copy of the file back"
	has "smc_r0 Defined"
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
	run rmdev -l smc_r0
	[ "$status" -eq 1 ]
}

@test "a first change that fails for want of room leaves no database" {
	local size left=0
	need_mount "$BATS_TEST_TMPDIR/small" 256k
	export ODMDIR=$BATS_TEST_TMPDIR/small
	# From no room at all to nearly enough.
	for size in 256 228 192 160 120; do
		head -c "${size}k" /dev/zero >"$ODMDIR/filler" || true
		run mkdev -d -c tcpip -t smc_r
		if [ "$status" -eq 0 ]; then
			left=$((left + 1))
			rm "$ODMDIR/filler" "$ODMDIR/attr.db"
			continue
		fi
		has "0514-548"
		[ ! -e "$ODMDIR/attr.db" ]
	done
	[ "$left" -gt 0 ]
}

@test "a read-only database is called one, and can be got out of service" {
	need_root
	mount --bind "$ODMDIR" "$ODMDIR" 2>/dev/null || skip "cannot mount"
	mounted=$ODMDIR
	mount -o remount,ro,bind "$ODMDIR"
	refused chdev -l smc_r0 -a enabled=1
	has "attr.db: Read-only file system. Mount its file system writable"
	run rmdev -l smc_r0
	[ "$status" -eq 0 ]
	has "smc_r0 Defined"
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
}

@test "a lock is not waited for in silence" {
	(
		flock 9
		exec sleep 20
	) 9>>"$database-lock" 3>&- &
	place_pids="$place_pids $!"
	until ! flock -n "$database-lock" true; do sleep 0.05; done
	SMC_R_LOCK_WAIT=2 refused chdev -l smc_r0 -a enabled=1
	has "note: another command has locked $database; waiting for it, for 1 s"
	has " 0514-516 "
	has "$database is in use by another command"
}

# inject CALLS:WHAT FLAGS...: chdev with something done to its system calls; its
# exit status is in $exited.
inject() {
	local what=$1
	shift
	exited=0
	strace -qq -o /dev/null -e "trace=${what%%:*}" -e "inject=$what" \
		chdev -l smc_r0 "$@" >/dev/null 2>&1 || exited=$?
}

@test "SIGINT, SIGTERM and SIGHUP wait until a change is complete" {
	local signal
	for _ in 1 2 3 4 5; do
		for signal in INT TERM HUP QUIT; do
			chdev -l smc_r0 -a "max_memory=$((RANDOM % 1000 + 16))" \
				-a "port_range_list=$((RANDOM + 1))" \
				>/dev/null 2>&1 3>&- &
			local pid=$!
			# Anywhere in its life; 8 ms is about how long it lives.
			sleep "0.00$((RANDOM % 9))"
			kill -"$signal" "$pid" 2>/dev/null || true
			wait "$pid" || true
			agree
		done
	done
}

@test "a signal during the change is kept until it is over" {
	command -v strace >/dev/null || skip "needs strace"
	# The signal is sent to the command by itself, at its first rename:
	# the snapshot is being replaced, the database is not committed.
	local signal
	for signal in SIGINT SIGTERM SIGHUP; do
		local memory=$((16 + RANDOM % 1000))
		inject "renameat,renameat2,rename:signal=$signal" \
			-a max_memory=$memory
		[ "$exited" -gt 128 ] # it did end by the signal, afterwards
		[ "$(stored max_memory)" = "$memory" ]
		agree
	done
}

# A call is hit at its first times, and in long runs at later ones.
times() { # first... : later...
	local all=$*
	[ -n "${SMC_R_LONG-}" ] || all=${all%%:*}
	echo "${all/:/}"
}

@test "after SIGKILL the next command makes database and snapshot agree" {
	command -v strace >/dev/null || skip "needs strace"
	local call healed=0
	for call in openat pwrite64 fsync fdatasync rename,renameat,renameat2 \
		unlink unlinkat munmap; do
		for when in $(times 1 6 : 3 12); do
			inject "$call:signal=SIGKILL:when=$when" \
				-a "max_memory=$((16 + RANDOM % 1000))" \
				-a "port_range_list=$((RANDOM + 1))"
			[ "$exited" -ne 137 ] || healed=$((healed + 1))
			# Whatever it was: one of the two states, and whole.
			run sqlite3 "$database" "PRAGMA integrity_check"
			[ "$output" = ok ]
			says "smc_r0 Available" mkdev -l smc_r0
			agree
		done
	done
	[ "$healed" -gt 3 ]
}

@test "a mkdev that was killed is repeated, and rmdev takes all away" {
	command -v strace >/dev/null || skip "needs strace"
	rmdev -q -l smc_r0
	# Behind the rename of the snapshot, before the database's commit.
	strace -qq -o /dev/null -e trace=fsync \
		-e inject=fsync:signal=SIGKILL:when=2 mkdev -l smc_r0 || true
	[ -e "$SMC_R_RUNDIR/smc_r0" ]
	says Defined lsdev -C -l smc_r0 -F status
	says "smc_r0 Available" mkdev -l smc_r0
	agree
	says "smc_r0 deleted" rmdev -d -l smc_r0
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
}

# What a device in service has outside of its database.
nothing_runs() {
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
	[ "$(cat "$SMC_R_LDPRELOAD_FILE")" = "# a comment" ]
	if [ "$(id -u)" = 0 ] && [ -d /sys/fs/bpf/smc_r ]; then
		find /sys/fs/bpf/smc_r -mindepth 1 -maxdepth 1 |
			sort >"$BATS_TEST_TMPDIR/pins"
		diff "$BATS_TEST_TMPDIR/pins.before" "$BATS_TEST_TMPDIR/pins"
	fi
}

# A device that nothing is left of, and what was there before it.
nothing_begin() {
	rmdev -q -dl smc_r0
	echo "# a comment" >"$SMC_R_LDPRELOAD_FILE"
	find /sys/fs/bpf/smc_r -mindepth 1 -maxdepth 1 2>/dev/null |
		sort >"$BATS_TEST_TMPDIR/pins.before"
}

@test "rmdev takes away what a mkdev left that was killed anywhere" {
	command -v strace >/dev/null || skip "needs strace"
	local call when defined killed=0 left=0
	local made=(mkdev -q -c tcpip -t smc_r -a system_preload=1)
	make_safe
	export SMC_R_LIBRARY=$safe/libsmc_r.so
	echo "the library" >"$SMC_R_LIBRARY"
	nothing_begin
	for call in openat renameat,rename fsync,fdatasync unlink,unlinkat \
		bpf pwrite64 munmap; do
		for when in $(times 1 3 6 : 2 4 9 13); do
			for defined in '' 1; do
				[ -z "$defined" ] || mkdev -q -d -c tcpip -t smc_r
				exited=0
				strace -qq -o /dev/null -e "trace=$call" -e \
					"inject=$call:signal=SIGKILL:when=$when" \
					"${made[@]}" 2>/dev/null || exited=$?
				[ "$exited" -ne 137 ] || killed=$((killed + 1))
				[ ! -e "$SMC_R_RUNDIR/smc_r0" ] ||
					left=$((left + 1))
				rmdev -q -dl smc_r0 || true
				nothing_runs
			done
		done
	done
	echo "$killed killed, $left left something"
	[ "$killed" -gt 10 ]
	[ "$left" -gt 5 ]
}

@test "rmdev says what it took away, and nothing of another database" {
	command -v strace >/dev/null || skip "needs strace"
	nothing_begin
	strace -qq -o /dev/null -e trace=fsync \
		-e inject=fsync:signal=SIGKILL:when=2 \
		mkdev -c tcpip -t smc_r || true
	[ -e "$SMC_R_RUNDIR/smc_r0" ]
	(
		export ODMDIR=$BATS_TEST_TMPDIR/another
		mkdev -q -d -c tcpip -t smc_r
		says "smc_r0 deleted" rmdev -dl smc_r0
		refused rmdev -dl smc_r0
	)
	[ -e "$SMC_R_RUNDIR/smc_r0" ]
	says "smc_r0 Undefined" rmdev -l smc_r0
	nothing_runs
	refused rmdev -l smc_r0
}

@test "a failing system call anywhere leaves all or nothing" {
	command -v strace >/dev/null || skip "needs strace"
	local call when before after failed=0
	for call in fsync fdatasync renameat pwrite64 mmap fchmod ftruncate \
		unlink; do
		for when in $(times 1 3 : 2 5 8); do
			before=$(stored max_memory)
			after=$((16 + RANDOM % 1000))
			inject "$call:error=EIO:when=$when" -a max_memory=$after
			if [ "$exited" -eq 0 ]; then
				[ "$(stored max_memory)" = "$after" ]
			else
				failed=$((failed + 1))
				[ "$(stored max_memory)" = "$before" ]
			fi
			agree
		done
	done
	[ "$failed" -gt 3 ]
}
