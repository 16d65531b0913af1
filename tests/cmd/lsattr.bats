#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# lsattr: columns byte for byte, and the other lsattr left in peace.
# lane: any

# Each test has an environment of its own:
# shellcheck disable=SC2030,SC2031

load device
: "${database-}"

setup() {
	device_setup
	make_device
}

teardown() {
	device_teardown
}

unknown() { # number, command...
	local number=$1 stderr=
	shift
	run --separate-stderr "$@"
	[ "$status" -eq 255 ]
	[ -z "$output" ]
	output=$stderr
	has "lsattr: 0514-$number "
}

@test "six rows, in columns" {
	says "enabled         0    Enable SMC-R                     True+
exclude_list    sshd Programs that never use SMC-R    True+
ip_addr_list         IP addresses of SMC-R interfaces True+
max_memory      1024 Maximum memory for SMC-R (MB)    True+
port_range_list      Server ports that use SMC-R      True+
system_preload  0    Load SMC-R into every program    True+" \
		lsattr -E -l smc_r0
}

@test "flags may stand together" {
	says "enabled 0 Enable SMC-R True+" lsattr -El smc_r0 -a enabled
	says "enabled 0 Enable SMC-R True+" lsattr -lsmc_r0 -E -aenabled
}

@test "-R says how a list is written where there is no list of values" {
	says "Ports 1 to 65535 and ranges of them, separated by commas.
Example: 1-20,23,50" lsattr -R -l smc_r0 -a port_range_list
	local attribute
	for attribute in ip_addr_list port_range_list exclude_list; do
		chdev -q -l smc_r0 -a "$attribute=$(lsattr -R -l smc_r0 \
			-a $attribute | sed -n 's/^Example: //p')"
		[ -n "$(stored $attribute)" ]
	done
}

@test "-l and a device without -E is for us, unless a file has the name" {
	cd "$BATS_TEST_TMPDIR"
	refused lsattr -l smc_r0
	has "0514-511 one of -E, -D, -P, -F and -R is needed."
	refused lsattr -R -l smc_r0
	has "0514-511 -R needs exactly one -a."
	[ -x /usr/bin/lsattr ] || skip "no e2fsprogs"
	: >smc_r0
	run lsattr -l smc_r0
	lacks 0514
}

@test "-D shows defaults, of a device and of its kind" {
	chdev -q -l smc_r0 -a enabled=1 -a max_memory=64
	local wanted
	wanted="enabled    0    Enable SMC-R                  True+
max_memory 1024 Maximum memory for SMC-R (MB) True+"
	says "$wanted" lsattr -D -l smc_r0 -a enabled -a max_memory
	says "$wanted" lsattr -D -c tcpip -t smc_r -a enabled -a max_memory
	says "$wanted" lsattr -D -s smc -a enabled -a max_memory
}

@test "defaults are known before there is a database" {
	export ODMDIR=$BATS_TEST_TMPDIR/none
	run lsattr -D -c tcpip -t smc_r
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 6 ]
	unknown 519 lsattr -E -l smc_r0
	[ ! -e "$ODMDIR" ]
}

@test "-H puts names above, and an empty line" {
	says "attribute value description  user_settable

enabled   0     Enable SMC-R True+" lsattr -E -H -l smc_r0 -a enabled
}

@test "-O has colons, and escapes those of values" {
	chdev -q -l smc_r0 -a ip_addr_list=fe80::1
	says "#enabled:exclude_list:ip_addr_list:max_memory:port_range_list:system_preload
0:sshd:fe80#!:#!:1:1024::0" lsattr -E -O -l smc_r0
	says "#ip_addr_list" lsattr -D -O -H -l smc_r0 -a ip_addr_list
	[ "$(lsattr -D -O -l smc_r0 -a ip_addr_list | wc -l)" -eq 2 ]
}

@test "-F chooses columns" {
	chdev -q -l smc_r0 -a enabled=1
	says "enabled    1
max_memory 1024" lsattr -E -l smc_r0 -a enabled -a max_memory \
		-F "attribute value"
	says 1 lsattr -l smc_r0 -a enabled -F value
	says 0 lsattr -D -l smc_r0 -a enabled -F value
	says "enabled:1:0,1:nl" lsattr -E -l smc_r0 -a enabled \
		-F attribute:value:values:rep
	says "<enabled|DU+>" lsattr -E -l smc_r0 -a enabled \
		-F "<attribute|generic>"
	says "R 2 0 True+" lsattr -E -l smc_r0 -a enabled \
		-F "type nls_index deflt user_settable"
	says "deflt

0" lsattr -H -l smc_r0 -a enabled -F deflt
}

@test "-Z chooses what ends a record" {
	says "enabled=0;max_memory=1024;" lsattr -E -l smc_r0 -a enabled \
		-a max_memory -F attribute=value -Z ";"
}

@test "a column that does not exist is refused" {
	refused lsattr -E -l smc_r0 -F "attribute colour"
	has "lsattr: 0514-546 Invalid parameter - colour."
	refused lsattr -E -l smc_r0 -F ";"
	has "0514-546"
}

@test "-P shows what the device was configured with" {
	chdev -q -P -l smc_r0 -a enabled=1
	says "enabled 0 Enable SMC-R True+" lsattr -P -l smc_r0 -a enabled
	says "enabled 1 Enable SMC-R True+" lsattr -E -l smc_r0 -a enabled
	rmdev -q -l smc_r0
	says "enabled 1 Enable SMC-R True+" lsattr -P -l smc_r0 -a enabled
}

@test "-R lists legal values" {
	says "0
1" lsattr -R -l smc_r0 -a enabled
	says "16...65536 (+1)" lsattr -R -l smc_r0 -a max_memory
	says "16...65536 (+1)" lsattr -R -c tcpip -t smc_r -a max_memory
	sqlite3 "$database" "UPDATE PdAt SET \"values\" = '1-9,2,20-30'
		WHERE attribute = 'max_memory'"
	says "1...9 (+2)
20...30 (+1)" lsattr -R -l smc_r0 -a max_memory
}

@test "-o lists operations" {
	says "statistics entstat -d smc_r0" lsattr -l smc_r0 -o statistics \
		-F "operation list_cmd"
	says "reset:entstat -r smc_r0" lsattr -c tcpip -t smc_r -o reset \
		-F operation:change_cmd
	unknown 528 lsattr -l smc_r0 -o nosuch -F operation
	refused lsattr -l smc_r0 -o reset -F colour
	refused lsattr -l smc_r0 -o reset
}

@test "what is unknown ends with 255" {
	unknown 519 lsattr -E -l nosuch
	unknown 528 lsattr -E -l smc_r0 -a nosuch
	[ "$output" = "lsattr: 0514-528 The \"nosuch\" attribute does not exist in the predefined
	device configuration database." ]
	unknown 528 lsattr -R -l smc_r0 -a nosuch
	unknown 528 lsattr -E -l smc_r0 -a enabled -a nosuch
	unknown 520 lsattr -D -c tcpip -t nosuch
	unknown 519 lsattr -F value -l nosuch
}

@test "wrong use shows the usage" {
	local flags
	for flags in "-E" "-D" "-E -l smc_r0 -D" "-E -c tcpip" \
		"-E -l smc_r0 -c tcpip" "-R -c tcpip" "-E -R -l smc_r0 -a x" \
		"-R -O -l smc_r0 -a x" "-R -l smc_r0 -a x -a y -t z" \
		"-E -O -F value -l smc_r0" "-E -Z ; -l smc_r0" "-E -l" \
		"-E -Z xx -F value -l smc_r0" "-P -t smc_r"; do
		# shellcheck disable=SC2086
		refused lsattr $flags
		has "lsattr: 0514-511 "
		has "Usage:
	lsattr {-E"
	done
	refused lsattr -E -l smc_r0 more
	has "0514-546 Invalid parameter - more."
	run lsattr -h
	[ "$status" -eq 0 ]
}

@test "-f takes flags from a file" {
	echo '-a enabled -F "attribute value"' >"$BATS_TEST_TMPDIR/flags"
	says "enabled 0" lsattr -E -l smc_r0 -f "$BATS_TEST_TMPDIR/flags"
}

@test "a database that may not be opened is named" {
	need_root # a device of root's, which others may not open
	device_make_public
	make_device
	chmod 000 "$database"
	for command in "lsattr -E -l smc_r0" lsdev "odmget CuDv" \
		"chdev -l smc_r0 -a enabled=1" "rmdev -l smc_r0"; do
		# shellcheck disable=SC2086
		run as_nobody $command
		[ "$status" -ne 0 ]
		# Broken into lines.
		[[ ${output//[$'\n\t ']/} == *"$database:"*"asroot,orsetODMDIR"* ]]
	done
	chmod 644 "$database"
}

@test "an ordinary user may look, and not change" {
	need_root
	device_make_public
	umask 077
	make_device
	umask 022
	run as_nobody lsattr -E -l smc_r0 -a enabled
	[ "$status" -eq 0 ]
	[ "$output" = "enabled 0 Enable SMC-R True+" ]
	run as_nobody lsdev -C
	[ "$status" -eq 0 ]
	run as_nobody odmget CuDv
	[ "$status" -eq 0 ]
	has 'name = "smc_r0"'
	local before
	before=$(picture)
	for command in "chdev -l smc_r0 -a enabled=1" "rmdev -l smc_r0" \
		"rmdev -dl smc_r0" "mkdev -l smc_r0" "chdev -l smc_r0"; do
		# shellcheck disable=SC2086
		run as_nobody $command
		[ "$status" -eq 1 ]
		has "0514-001"
		has "as root"
	done
	[ "$before" = "$(picture)" ]
	rmdev -q -dl smc_r0
}

@test "output that cannot be written is an error" {
	run bash -c 'exec lsattr -E -l smc_r0 >/dev/full'
	[ "$status" -eq 1 ]
	has "0514-001"
}

# ---- The other lsattr -------------------------------------------------------

make_other() {
	mkdir -p "$BATS_TEST_TMPDIR/others"
	cat >"$BATS_TEST_TMPDIR/others/lsattr" <<-'EOT'
		#!/bin/sh
		echo "other: $*"
		exit 3
	EOT
	chmod +x "$BATS_TEST_TMPDIR/others/lsattr"
	PATH=$PATH:$BATS_TEST_TMPDIR/others
	# Ours, a copy of ours, the other: as far as those on the host go.
	mkdir -p "$BATS_TEST_TMPDIR/copy"
	cp "$(command -v lsattr)" "$BATS_TEST_TMPDIR/copy/lsattr"
	PATH=$(dirname "$(command -v lsattr)"):$BATS_TEST_TMPDIR/copy
	PATH=$PATH:$BATS_TEST_TMPDIR/others:/usr/bin:/bin
}

passed() { # words of the other, command...
	local words=$1
	shift
	run "$@"
	echo "exit $status: $output"
	[ "$status" -eq 3 ]
	[ "$output" = "other: $words" ]
}

@test "what is not about devices goes to the next lsattr, past copies" {
	make_other
	cd "$BATS_TEST_TMPDIR"
	passed "" lsattr
	passed "-d file" lsattr -d file
	passed "-Ra" lsattr -Ra
	passed "-l file" lsattr -l file
	passed "-R -l file -a other" lsattr -R -l file -a other
	passed "-- -E" lsattr -- -E
	passed "-V" lsattr -V
	run "$BATS_TEST_TMPDIR/copy/lsattr" -d file
	[ "$output" = "other: -d file" ]
}

@test "-R -l NAME -a ATTR is ours unless a file has that name" {
	make_other
	cd "$BATS_TEST_TMPDIR"
	run lsattr -R -l smc_r0 -a enabled
	[ "$status" -eq 0 ]
	[ "$output" = "0
1" ]
	touch smc_r0
	passed "-R -l smc_r0 -a enabled" lsattr -R -l smc_r0 -a enabled
	rm smc_r0
	ODMDIR=$BATS_TEST_TMPDIR/none passed "-R -l smc_r0 -a enabled" \
		lsattr -R -l smc_r0 -a enabled
	run lsattr -R -t smc_r -a enabled
	[ "$status" -eq 0 ]
}

@test "with no other lsattr anywhere it is ours to say what is wrong" {
	command -v unshare >/dev/null || skip "needs unshare"
	need_root
	# shellcheck disable=SC2016
	run unshare -m sh -c '
		mount --bind /dev/null /usr/bin/lsattr || exit 99
		PATH=$1:/usr/bin:/bin lsattr -d /tmp' sh \
		"$(dirname "$(command -v lsattr)")"
	[ "$status" -ne 99 ] || skip "cannot mount"
	[ "$status" -eq 1 ]
	has "Usage:"
}

@test "the real one of this host still works" {
	[ -x /usr/bin/lsattr ] || skip "no e2fsprogs"
	run /usr/bin/lsattr -d "$BATS_TEST_TMPDIR"
	local status_there=$status output_there=$output
	run lsattr -d "$BATS_TEST_TMPDIR"
	[ "$status" -eq "$status_there" ]
	[ "$output" = "$output_there" ]
}
