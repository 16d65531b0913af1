#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# lsdev and odmget: what there is.

load device

# What ends with an empty cell ends with a blank.
end=" "
words="Shared Memory Communications over RDMA"

setup() {
	device_setup
	make_device
	sqlite3 "$ODMDIR/attr.db" "INSERT INTO PdDv (uniquetype, type, class,
		subclass, prefix) VALUES ('bus/pci/x', 'x', 'bus', 'pci',
		'xyz');
		INSERT INTO CuDv VALUES ('xyz10', 0, 2, '', '00-01', 'smc_r0',
			'', 'bus/pci/x'), ('abc', 2, 2, '', '', '', '',
			'bus/pci/x')"
}

teardown() {
	sqlite3 "$ODMDIR/attr.db" "DELETE FROM CuDv WHERE name <> 'smc_r0'"
	device_teardown
}

@test "devices are listed by name, in columns" {
	says "abc    Stopped        $end
smc_r0 Available       $words
xyz10  Defined   00-01 " lsdev -C
	says "$(lsdev -C)" lsdev -x
}

@test "devices are selected by kind, name, parent and state" {
	says "smc_r0 Available  $words" lsdev -C -c tcpip
	says "smc_r0 Available  $words" lsdev -t smc_r
	says "smc_r0 Available  $words" lsdev -l smc_r0
	says "smc_r0 Available  $words" lsdev -S available
	says "smc_r0 Available  $words" lsdev -S 1
	says "smc_r0 Available  $words" lsdev -S A
	says "xyz10 Defined 00-01 " lsdev -p smc_r0
	says "xyz10 Defined 00-01 " lsdev -S d
	says "abc Stopped  " lsdev -S 2
	says "" lsdev -c tcpip -S d
}

@test "an unknown name is no error" {
	says "" lsdev -l nosuch
	says "" lsdev -C -l nosuch
	says "" lsdev -c nosuch
	says "" lsdev -P -t nosuch
	# A person is told.
	run script -qec "lsdev -C -l nosuch" /dev/null
	[ "$status" -eq 0 ]
	[ "${output%$'\r'}" = "lsdev: note: there is no device nosuch" ]
	run script -qec "lsdev -C -l smc_r0 -F name" /dev/null
	[ "${output%$'\r'}" = smc_r0 ]
}

@test "-l - reads names" {
	run bash -c 'printf "smc_r0\nnosuch\nabc\n" | lsdev -C -l - -F name'
	[ "$output" = "abc
smc_r0" ]
	run bash -c 'lsdev -l - </dev/null'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	for input in '</' '<&-'; do
		run bash -c "lsdev -l - $input"
		[ "$status" -eq 1 ]
		has "0514-001"
	done
}

@test "-P lists kinds" {
	says "bus   x     pci$end
tcpip smc_r smc $words" lsdev -P
	says "tcpip smc_r smc $words" lsdev -P -c tcpip -s smc -t smc_r
}

@test "kinds are known before there is a database" {
	ODMDIR=$BATS_TEST_TMPDIR/none says "tcpip smc_r smc $words" lsdev -P
	ODMDIR=$BATS_TEST_TMPDIR/none says "" lsdev -C
	[ ! -e "$BATS_TEST_TMPDIR/none" ]
}

@test "-F and -H choose columns and name them" {
	says "smc_r0 Available tcpip" lsdev -l smc_r0 -F "name status class"
	says "smc_r0:Available:tcpip/smc/smc_r:" lsdev -l smc_r0 \
		-F name:status:PdDvLn:parent
	says "tcpip,smc_r,smc_r,0" lsdev -P -c tcpip -F class,type,prefix,base
	says "name   status    location description

smc_r0 Available          $words" lsdev -H -l smc_r0
	says "name

smc_r0" lsdev -H -l smc_r0 -F name
	says "smc_r0 /usr/lib/methods/cfgsmcr " lsdev -l smc_r0 \
		-F "name Configure physloc"
	refused lsdev -F "name colour"
	has "0514-546 Invalid parameter - colour."
	refused lsdev -P -F name
	has "0514-546"
}

@test "-r lists each value once" {
	says "bus
tcpip" lsdev -P -r class
	says "bus
tcpip" lsdev -C -r class
	says "Available
Defined
Stopped" lsdev -r status
	refused lsdev -r colour
	refused lsdev -r "class type"
}

@test "wrong use shows the usage" {
	for flags in "-C -P" "-P -l smc_r0" "-r class -F class" "-P -S a"; do
		# shellcheck disable=SC2086
		refused lsdev $flags
		has "lsdev: 0514-511 "
		has "Usage:
	lsdev "
	done
	refused lsdev -S busy
	has "0514-546 Invalid parameter - busy."
	refused lsdev more
	has "0514-546 Invalid parameter - more."
	run lsdev -h
	[ "$status" -eq 0 ]
}

@test "without a flag, procinfo's lsdev is meant if it is there" {
	[ ! -e /usr/bin/lsdev ] || skip "procinfo is installed"
	says "$(lsdev -C)" lsdev
	mkdir "$BATS_TEST_TMPDIR/others"
	printf '#!/bin/sh\necho other\n' >"$BATS_TEST_TMPDIR/others/lsdev"
	chmod +x "$BATS_TEST_TMPDIR/others/lsdev"
	PATH=$PATH:$BATS_TEST_TMPDIR/others
	says other lsdev
	run lsdev -C
	has smc_r0
}

# ---- odmget -----------------------------------------------------------------

@test "odmget prints stanzas" {
	says "
CuDv:
	name = \"smc_r0\"
	status = 1
	chgstatus = 2
	ddins = \"\"
	location = \"\"
	parent = \"\"
	connwhere = \"\"
	PdDvLn = \"tcpip/smc/smc_r\"" odmget -q name=smc_r0 CuDv
}

@test "odmget prints nothing that is not stored" {
	says "" odmget CuAt
	says "" odmget -q "name = 'nosuch'" CuDv
	chdev -q -l smc_r0 -a enabled=1
	says "
CuAt:
	name = \"smc_r0\"
	attribute = \"enabled\"
	value = \"1\"
	type = \"R\"
	generic = \"DU+\"
	rep = \"nl\"
	nls_index = 2" odmget CuAt
}

@test "odmget takes criteria and several classes" {
	run odmget -q "uniquetype=tcpip/smc/smc_r and attribute like m*" PdAt
	[ "$(grep -c PdAt: <<<"$output")" -eq 1 ]
	has 'attribute = "max_memory"'
	run odmget -q "uniquetype=tcpip/smc/smc_r" PdDv PdAt
	[ "$(grep -c PdAt: <<<"$output")" -eq 7 ]
	[ "$(grep -c PdDv: <<<"$output")" -eq 1 ]
}

@test "odmget refuses what it does not know" {
	refused odmget Nothing
	has "odmget: 0514-546 Invalid parameter - Nothing."
	refused odmget -q "colour=red" CuDv
	has "no such field"
	refused odmget
	has "a class is needed"
	refused odmget -q "name=a"
	has "a class is needed"
	refused odmget -q
	has "-q needs an argument"
	refused odmget -z CuDv
	has "odmget: 0514-546 Invalid parameter - -z."
	run odmget -h
	[ "$status" -eq 0 ]
}

@test "what odmget prints makes the same objects again" {
	odmget PdDv PdAt PdAtXtd PdMsg >"$BATS_TEST_TMPDIR/first"
	mkdir "$BATS_TEST_TMPDIR/conf"
	cp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/conf/smc_r.stanza"
	export ODMDIR=$BATS_TEST_TMPDIR/again
	SMC_R_CONFDIR=$BATS_TEST_TMPDIR/conf mkdev -q -d -c tcpip -t smc_r
	odmget PdDv PdAt PdAtXtd PdMsg >"$BATS_TEST_TMPDIR/second"
	cmp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/second"
}
