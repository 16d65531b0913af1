#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 240
# chdev: what is right is taken as a whole, what is wrong not at all.

load device
: "${database-}"

setup() {
	device_setup
	make_device
}

teardown() {
	device_teardown
}

@test "several attributes change at once, database and snapshot" {
	says "smc_r0 changed" chdev -l smc_r0 -a enabled=1 \
		-a port_range_list=6379,8000-8100 -a ip_addr_list=127.0.0.1
	says "enabled         1              Enable SMC-R                     True+
exclude_list    sshd           Programs that never use SMC-R    True+
ip_addr_list    127.0.0.1      IP addresses of SMC-R interfaces True+
max_memory      1024           Maximum memory for SMC-R (MB)    True+
port_range_list 6379,8000-8100 Server ports that use SMC-R      True+
system_preload  0              Load SMC-R into every program    True+" \
		lsattr -E -l smc_r0
	[ "$(published enabled)" = 1 ]
	[ "$(published ip_addr_list)" = 127.0.0.1 ]
	[ "$(published port_range_list)" = "6379 8000-8100" ]
	[ "$(published generation)" = 2 ]
}

@test "one -a may hold several pairs, and values blanks" {
	says "smc_r0 changed" chdev -l smc_r0 \
		-a 'enabled=1 port_range_list= 1 - 20 , 23 50 max_memory=64' \
		-a 'ip_addr_list=::1 127.0.0.1'
	[ "$(stored port_range_list)" = 1-20,23,50 ]
	[ "$(stored ip_addr_list)" = ::1,127.0.0.1 ]
	[ "$(stored max_memory)" = 64 ]
}

@test "values are stored in one form" {
	chdev -q -l smc_r0 -a port_range_list=50,1-20,10-30,31 \
		-a ip_addr_list=::ffff:10.0.0.1,10.0.0.1 -a max_memory=0064 \
		-a exclude_list='sshd, redis-server sshd'
	[ "$(stored port_range_list)" = 1-31,50 ]
	[ "$(stored ip_addr_list)" = 10.0.0.1 ]
	[ "$(stored max_memory)" = 64 ]
	[ "$(stored exclude_list)" = sshd,redis-server ]
	[ "$(published exclude_list)" = "sshd redis-server" ]
}

@test "a value may be taken back to nothing" {
	chdev -q -l smc_r0 -a port_range_list=1-20 -a exclude_list=a
	says "smc_r0 changed" chdev -l smc_r0 -a port_range_list= \
		-a exclude_list=
	[ -z "$(published port_range_list)" ]
	[ -z "$(published exclude_list)" ]
}

@test "the default leaves no object behind" {
	chdev -q -l smc_r0 -a enabled=1 -a max_memory=64
	[ "$(odmget CuAt | grep -c CuAt:)" -eq 2 ]
	chdev -q -l smc_r0 -a enabled=0 -a max_memory=1024
	says "" odmget CuAt
}

@test "each bad value is refused with the attribute named" {
	while read -r attribute value; do
		refused chdev -l smc_r0 -a max_memory=77 -a "$attribute=$value"
		has "Method error (/usr/lib/methods/chgsmcr):
	0514-018 "
		has "	         $attribute: "
	done <<-EOT
		enabled 2
		enabled
		enabled -1
		enabled yes
		max_memory -1
		max_memory 15
		max_memory 65537
		max_memory 1024MB
		max_memory 99999999999999999999
		port_range_list 70000
		port_range_list 9-3
		port_range_list 0
		port_range_list 1,,2
		port_range_list 1-2-3
		port_range_list http
		ip_addr_list 10.0.0.1,10.0.0.2,10.0.0.3
		ip_addr_list 10.0.0.1,::1,fe80::1
		ip_addr_list localhost
		ip_addr_list 0.0.0.0
		ip_addr_list ff02::1
		system_preload 2
		exclude_list /usr/sbin/sshd
	EOT
}

@test "all bad values are named in one message, byte for byte" {
	refused chdev -l smc_r0 -a max_memory=-1 -a enabled=yes \
		-a port_range_list=9-3
	[ "$output" = "Method error (/usr/lib/methods/chgsmcr):
	0514-018 The following attributes cannot have the given values:
	         enabled: \"yes\" is not one of 0,1
	         max_memory: \"-1\" is not a whole number in 16-65536 (MB)
	         port_range_list: a range that ends before it begins: \"9-3\"" ]
	refused chdev -l smc_r0 -a max_memory=15
	has "	         max_memory: 15 is not in 16-65536"
}

@test "a value that will not do now is taken, with a note" {
	run --separate-stderr chdev -l smc_r0 -a ip_addr_list=::1,192.0.2.9
	[ "$status" -eq 0 ]
	[ "$output" = "smc_r0 changed" ]
	# shellcheck disable=SC2154 # run sets it
	[ "$stderr" = "chdev: note: ip_addr_list: no interface of this host has 192.0.2.9 now (ip address); connections stay on TCP until one has" ]
	[ "$(stored ip_addr_list)" = ::1,192.0.2.9 ]
	says "" chdev -q -l smc_r0 -a ip_addr_list=192.0.2.9
	run --separate-stderr chdev -l smc_r0 -a port_range_list=80-
	[ "$status" -eq 1 ]
	[[ $stderr == *'port_range_list: a range without its end: "80-"' ]]
}

@test "unknown attributes are named, and come first" {
	refused chdev -l smc_r0 -a colour=red -a enabled=2 -a shape=round
	[ "$output" = "Method error (/usr/lib/methods/chgsmcr):
	0514-017 The device does not have the following attributes:
	         colour
	         shape" ]
}

@test "two different values of one attribute are refused" {
	refused chdev -l smc_r0 -a enabled=1 -a enabled=0
	has "0514-018"
	has "enabled: two different values"
	says "smc_r0 changed" chdev -l smc_r0 -a enabled=1 -a enabled=1
}

@test "an unknown device is refused" {
	refused chdev -l nosuch -a enabled=1
	[ "$output" = "chdev: 0514-519 The customized device configuration database has no
	device \"nosuch\". lsdev shows those that it has; mkdev -c tcpip
	-t smc_r makes smc_r0." ]
	ODMDIR=$BATS_TEST_TMPDIR/none run chdev -l smc_r0 -a enabled=1
	[ "$status" -eq 1 ]
	has "0514-519"
	[ ! -e "$BATS_TEST_TMPDIR/none" ]
}

@test "nothing to change is no error" {
	says "smc_r0 changed" chdev -l smc_r0
	says "smc_r0 changed" chdev -l smc_r0 -a enabled=0
	run odmget -q attribute=enabled history
	[ -z "$output" ]
}

@test "-P changes the database only" {
	says "smc_r0 changed" chdev -P -l smc_r0 -a enabled=1
	[ "$(published enabled)" = 0 ]
	[ "$(published generation)" = 1 ]
	says 1 lsattr -E -l smc_r0 -a enabled -F value
	says 0 lsattr -P -l smc_r0 -a enabled -F value
	rmdev -q -l smc_r0
	mkdev -q -l smc_r0
	[ "$(published enabled)" = 1 ]
	says 1 lsattr -P -l smc_r0 -a enabled -F value
}

@test "-T changes the running device only" {
	says "smc_r0 changed" chdev -T -l smc_r0 -a enabled=1
	says "smc_r0 changed" chdev -T -l smc_r0 -a max_memory=64
	[ "$(published enabled)" = 1 ]
	[ "$(published max_memory_bytes)" = $((64 * 1024 * 1024)) ]
	says "0 0 1" lsattr -E -l smc_r0 -a enabled -F "value configured running"
	says 0 lsattr -P -l smc_r0 -a enabled -F value
	says "" odmget CuAt
	rmdev -q -l smc_r0
	mkdev -q -l smc_r0
	[ "$(published enabled)" = 0 ]
}

@test "-U brings all attributes to their stored values" {
	chdev -q -P -l smc_r0 -a max_memory=64
	chdev -q -T -l smc_r0 -a port_range_list=1
	says "smc_r0 changed" chdev -U -l smc_r0 -a enabled=1
	[ "$(published enabled)" = 1 ]
	[ "$(published max_memory_bytes)" = $((64 * 1024 * 1024)) ]
	[ -z "$(published port_range_list)" ]
	says 64 lsattr -P -l smc_r0 -a max_memory -F value
}

@test "-P -T -U exclude each other" {
	for flags in "-P -T" "-T -U" "-P -U"; do
		# shellcheck disable=SC2086
		refused chdev $flags -l smc_r0 -a enabled=1
		has "exclude each other"
		has "Usage:"
	done
}

@test "of a Defined device only the database changes, whatever the flag" {
	rmdev -q -l smc_r0
	for flag in "" -P -T -U; do
		# shellcheck disable=SC2086
		says "smc_r0 changed" chdev $flag -l smc_r0 -a enabled=1
		[ "$(stored enabled)" = 1 ]
		[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
		chdev -q -l smc_r0 -a enabled=0
	done
}

@test "what cannot be changed stays" {
	sqlite3 "$ODMDIR/attr.db" "UPDATE PdAt SET generic = 'D'
		WHERE attribute = 'enabled'; UPDATE PdAt SET generic = 'DU'
		WHERE attribute = 'max_memory'"
	says "enabled    0    Enable SMC-R                  False
max_memory 1024 Maximum memory for SMC-R (MB) True" \
		lsattr -E -l smc_r0 -a enabled -a max_memory
	refused chdev -l smc_r0 -a enabled=1
	has "enabled: cannot be changed"
	refused chdev -U -l smc_r0 -a max_memory=64
	has "max_memory: cannot be changed while the device is Available"
	says "smc_r0 changed" chdev -l smc_r0 -a max_memory=64
}

@test "wrong use shows the usage" {
	for flags in "" "-a enabled=1" "-l" "-l smc_r0 -a" "-l smc_r0 -a =1" \
		"-l smc_r0 -a enabled"; do
		# shellcheck disable=SC2086
		refused chdev $flags
		has "chdev: 0514-511 "
		has "Usage:
	chdev -l Name"
	done
	refused chdev -l smc_r0 enabled=1
	[ "$output" = "chdev: 0514-546 Invalid parameter - enabled=1." ]
	run chdev -h
	[ "$status" -eq 0 ]
}

@test "-q says nothing, also when it fails" {
	says "" chdev -q -l smc_r0 -a enabled=1
	run chdev -q -l smc_r0 -a enabled=2
	[ "$status" -eq 1 ]
	[ -z "$output" ]
}

@test "the history names user, command, old and new value" {
	chdev -q -l smc_r0 -a enabled=1 -a 'port_range_list=1 - 20'
	run odmget -q "attribute = port_range_list" history
	has "device = \"smc_r0\""
	has "user = \"$(id -un)\""
	has "uid = $(id -u)"
	has "command = \"chdev -q -l smc_r0 -a enabled=1 -a 'port_range_list=1 - 20'\""
	has "old = \"\""
	has "new = \"1-20\""
}

@test "an error of the run directory undoes the change" {
	need_root
	chown 12345 "$SMC_R_RUNDIR"
	refused chdev -l smc_r0 -a enabled=1
	has "belongs to somebody else"
	chown 0 "$SMC_R_RUNDIR"
	says "smc_r0 changed" chdev -l smc_r0 -a enabled=1
}

@test "a stranger's snapshot is replaced" {
	need_root
	chdev -q -l smc_r0 -a enabled=1
	chown 12345 "$SMC_R_RUNDIR/smc_r0"
	chdev -q -l smc_r0 -a max_memory=64
	[ "$(stat -c %u "$SMC_R_RUNDIR/smc_r0")" = 0 ]
	[ "$(published enabled)" = 1 ]
}

@test "a damaged or missing snapshot is published anew" {
	echo nonsense >"$SMC_R_RUNDIR/smc_r0"
	chdev -q -l smc_r0 -a enabled=1
	[ "$(published enabled)" = 1 ]
	rm -rf "$SMC_R_RUNDIR"
	says Defined lsdev -C -l smc_r0 -F status
	chdev -q -l smc_r0 -P -a max_memory=32
	says Defined lsdev -C -l smc_r0 -F status
	chdev -q -l smc_r0 -a max_memory=64
	says Available lsdev -C -l smc_r0 -F status
	[ "$(published enabled)" = 1 ]
	[ -d "$SMC_R_RUNDIR/users/000000/status" ]
}

@test "-p makes a child of a device that exists" {
	refused chdev -l smc_r0 -p nosuch
	has "0514-519"
	refused chdev -l smc_r0 -p smc_r0
	has "0514-546"
	refused chdev -l smc_r0 -w 00
	has "0514-022"
	says "smc_r0 changed" chdev -l smc_r0 -p ""
}

@test "another user who reads the database stops no change" {
	need_root
	device_make_public
	make_device
	coproc reader { as_nobody sqlite3 -readonly "$database"; }
	# shellcheck disable=SC2154
	place_pids="$place_pids $reader_PID"
	echo "BEGIN; SELECT count(*) FROM CuDv, history;" >&"${reader[1]}"
	read -r -t 10 -u "${reader[0]}"
	export SMC_R_LOCK_WAIT=1
	says "smc_r0 changed" chdev -l smc_r0 -a enabled=1
	[ "$(published enabled)" = 1 ]
	says "smc_r0 Defined" rmdev -l smc_r0
	says "smc_r0 Available" mkdev -l smc_r0
	# Readers see what was changed, and the one from before what was not.
	run as_nobody lsattr -E -l smc_r0 -a enabled -F value
	[ "$output" = 1 ]
	echo "SELECT count(*) FROM CuAt WHERE attribute = 'enabled';" \
		>&"${reader[1]}"
	read -r -t 10 -u "${reader[0]}"
	[ "$REPLY" = 0 ]
	# There is no other file that they could hold.
	for file in "$ODMDIR"/*; do
		[ "$file" = "$database" ] || [ "$(stat -c %a "$file")" = 600 ]
	done
	run as_nobody flock -n "$database-lock" true
	[ "$status" -ne 0 ]
	has "Permission denied"
	chmod 644 "$database-lock"
	refused chdev -l smc_r0 -a enabled=0
	has "attr.db-lock: other users could hold this lock; remove the file"
	rm "$database-lock"
	kill "$reader_PID"
	rmdev -q -dl smc_r0
}

@test "owner and mode of the database, and a link to it, stay" {
	mv "$database" "$BATS_TEST_TMPDIR/real"
	ln -s "$BATS_TEST_TMPDIR/real" "$database"
	chmod 640 "$BATS_TEST_TMPDIR/real"
	[ "$(id -u)" -ne 0 ] || chown 12345:12346 "$BATS_TEST_TMPDIR/real"
	local before
	before=$(stat -c '%a %u %g' "$BATS_TEST_TMPDIR/real")
	says "smc_r0 changed" chdev -l smc_r0 -a enabled=1
	[ -L "$database" ]
	[ "$(stat -c '%a %u %g' "$BATS_TEST_TMPDIR/real")" = "$before" ]
	[ "$(stored enabled)" = 1 ]
}
