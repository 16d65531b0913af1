#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# odmadd, odmchange, odmdelete, odmshow, odmcreate: the checks are those of
# chdev, and all of a change happens or nothing.
# lane: any

load device
: "${database-}"

setup() {
	device_setup
	make_device
}

teardown() {
	device_teardown
}

value() { # attribute, value, rep
	printf 'CuAt:\n\tname = "smc_r0"\n\tattribute = "%s"\n' "$1"
	printf '\tvalue = "%s"\n\ttype = "R"\n\tgeneric = "DU+"\n' "$2"
	printf '\trep = "%s"\n\n' "$3"
}

add() { # stanzas
	printf '%b' "$1" | odmadd
}

history_of() { # command
	odmget -q "command like '$1*'" history |
		sed -n 's/^\t\(device\|attribute\|old\|new\) = //p' | paste -sd ' '
}

@test "odmadd of a value is chdev: checked, normalised, published, noted" {
	{
		value enabled 1 nl
		value port_range_list "80, 22" s
	} >"$BATS_TEST_TMPDIR/in"
	says "" odmadd "$BATS_TEST_TMPDIR/in"
	[ "$(stored enabled)" = 1 ]
	[ "$(stored port_range_list)" = 22,80 ]
	[ "$(published enabled)" = 1 ]
	# One change of the running device.
	[ "$(published generation)" = 2 ]
	[ "$(history_of odmadd)" = '"smc_r0" "enabled" "0" "1" "smc_r0" "port_range_list" "" "22,80"' ]
	refused odmadd "$BATS_TEST_TMPDIR/in"
	has "CuAt has this object already; odmchange changes it"
}

@test "a default takes no object" {
	value enabled 0 nl | says "" odmadd
	says "" odmget CuAt
}

@test "one bad object among good ones: nothing is added" {
	{
		value enabled 1 nl
		value max_memory 7 nr
	} >"$BATS_TEST_TMPDIR/in"
	refused odmadd "$BATS_TEST_TMPDIR/in"
	has "0514-018"
	has "max_memory: 7 is not in 16-65536"
	{
		value enabled 1 nl
		printf 'CuDv:\n\tname = "x0"\n\tstatus = 1\n'
		printf '\tchgstatus = 2\n\tPdDvLn = "tcpip/smc/smc_r"\n'
	} >"$BATS_TEST_TMPDIR/in"
	refused odmadd "$BATS_TEST_TMPDIR/in"
	has "mkdev -l configures it"
}

@test "what is no stanza is named with its file and line" {
	printf '\n\nCuAt:\n\tname smc_r0\n' >"$BATS_TEST_TMPDIR/in"
	refused odmadd "$BATS_TEST_TMPDIR/in"
	has "$BATS_TEST_TMPDIR/in:4: "
	refused odmadd "$BATS_TEST_TMPDIR/none"
	has "none: No such file or directory"
	refused odmadd "$BATS_TEST_TMPDIR"
	has "Is a directory"
	run odmadd /dev/zero
	[ "$status" -eq 1 ]
	add 'NoClass:\n\tname = "a"\n' && false
	add 'CuDep:\n\tname = "smc_r0"\n' && false
	value enabled 1 sl | odmadd && false
	value nosuch 1 s | odmadd && false
	[ -z "$(odmget CuAt)" ]
}

@test "odmchange gives fields new values, with the checks of chdev" {
	chdev -q -l smc_r0 -a enabled=1 -a max_memory=64
	printf 'CuAt:\n\tvalue = "128"\n' >"$BATS_TEST_TMPDIR/in"
	says "" odmchange -o CuAt -q "attribute=max_memory" \
		"$BATS_TEST_TMPDIR/in"
	[ "$(stored max_memory)" = 128 ]
	[ "$(published max_memory_bytes)" = 134217728 ]
	[ "$(history_of odmchange)" = '"smc_r0" "max_memory" "64" "128"' ]
	# All objects of the class: enabled cannot be 128.
	refused odmchange -o CuAt "$BATS_TEST_TMPDIR/in"
	has 'enabled: "128" is not one of 0,1'
	printf 'CuAt:\n\tname = "smc_r1"\n' >"$BATS_TEST_TMPDIR/in"
	refused odmchange -o CuAt "$BATS_TEST_TMPDIR/in"
	has "the fields that name an object of CuAt stay"
	refused odmchange -o CuDv "$BATS_TEST_TMPDIR/in"
	has "the stanza is of CuAt, not of CuDv"
	refused odmchange "$BATS_TEST_TMPDIR/in"
	has "-o is needed"
}

@test "the state, the kind and the parent of a device are not odmchange's" {
	local field
	for field in 'status = 0' 'PdDvLn = "a/b/c"' 'parent = "smc_r0"'; do
		printf 'CuDv:\n\t%s\n' "$field" >"$BATS_TEST_TMPDIR/in"
		refused odmchange -o CuDv "$BATS_TEST_TMPDIR/in"
	done
	printf 'CuDv:\n\tlocation = "rack 1"\n' | odmchange -o CuDv
	[ "$(lsdev -l smc_r0 -F location)" = "rack 1" ]
	[ "$(history_of odmchange)" = '"smc_r0" "location" "" "rack 1"' ]
}

@test "odmdelete gives the default back, and says how many there were" {
	chdev -q -l smc_r0 -a enabled=1 -a max_memory=64
	says "0518-307 odmdelete: 1 objects deleted." \
		odmdelete -o CuAt -q "attribute=enabled"
	[ "$(stored enabled)" = 0 ]
	[ "$(published enabled)" = 0 ]
	says "0518-307 odmdelete: 1 objects deleted." odmdelete -o CuAt
	says "0518-307 odmdelete: 0 objects deleted." odmdelete -o CuAt
	[ "$(history_of odmdelete)" = '"smc_r0" "enabled" "1" "0" "smc_r0" "max_memory" "64" "1024"' ]
}

@test "a device in service stays; one that is Defined goes, and comes back" {
	refused odmdelete -o CuDv
	has "it is in service; rmdev -l ends that"
	refused odmdelete -o PdAt -q "attribute=exclude_list"
	has "there is a device of this kind"
	rmdev -q -l smc_r0
	odmget CuDv >"$BATS_TEST_TMPDIR/device"
	says "0518-307 odmdelete: 1 objects deleted." odmdelete -o CuDv
	says "" lsdev -l smc_r0
	says "" odmadd "$BATS_TEST_TMPDIR/device"
	says "smc_r0 Available" mkdev -l smc_r0
}

@test "a database that is not there is made by odmadd only" {
	export ODMDIR=$BATS_TEST_TMPDIR/new
	says "0518-307 odmdelete: 0 objects deleted." odmdelete -o CuAt
	[ ! -e "$ODMDIR" ]
	printf 'CuDv:\n\tname = "smc_r0"\n\tstatus = 0\n' >"$BATS_TEST_TMPDIR/in"
	printf '\tchgstatus = 2\n\tPdDvLn = "tcpip/smc/smc_r"\n' \
		>>"$BATS_TEST_TMPDIR/in"
	says "" odmadd "$BATS_TEST_TMPDIR/in"
	[ "$(lsdev -l smc_r0 -F status)" = Defined ]
}

@test "configured, effective and history are read only" {
	local class
	chdev -q -T -l smc_r0 -a enabled=1
	says '
configured:
	name = "smc_r0"
	attribute = "enabled"
	value = "0"
	running = "1"

effective:
	name = "smc_r0"
	attribute = "enabled"
	value = "0"' odmget -q attribute=enabled configured effective
	for class in configured effective history; do
		refused odmdelete -o $class
		has "$class: it can only be read"
	done
}

@test "objects of other classes: added, changed, removed, noted" {
	add 'PdMsg:\n\tcatalog = "a.cat"\n\tsetno = 1\n\tmsgno = 2\n\ttext = "b"\n'
	printf 'PdMsg:\n\ttext = "c"\n' | odmchange -o PdMsg -q "catalog=a.cat"
	[ "$(odmget -q catalog=a.cat PdMsg | sed -n 's/.*text = //p')" = '"c"' ]
	says "0518-307 odmdelete: 1 objects deleted." \
		odmdelete -o PdMsg -q "catalog=a.cat and msgno>1"
	[ "$(history_of odm)" = '"PdMsg" "" "" "a.cat/1/2" "PdMsg" "text" "b" "c" "PdMsg" "" "a.cat/1/2" ""' ]
}

@test "what odmget writes, odmadd reads" {
	rmdev -q -dl smc_r0
	odmget PdDv PdAt PdAtXtd PdMsg >"$BATS_TEST_TMPDIR/all"
	for class in PdAt PdAtXtd PdMsg PdDv; do
		odmdelete -o $class
	done
	says "" odmadd "$BATS_TEST_TMPDIR/all"
	says "$(cat "$BATS_TEST_TMPDIR/all"; echo x)" \
		sh -c 'odmget PdDv PdAt PdAtXtd PdMsg; echo x'
}

@test "odmcreate makes a header that compiles, of what odmshow prints" {
	cd "$BATS_TEST_TMPDIR"
	odmshow CuDv CuAt configured >odm.cre
	says "" odmcreate -h odm.cre
	printf '#include "odm.h"\nstruct CuAt a;\nstruct configured c;\n' >a.c
	cc -Wall -Werror -c a.c
	printf 'class x {\n\tcolour a;\n};\n' >bad.cre
	run odmcreate -h bad.cre
	[ "$status" -eq 1 ]
	[[ $output == *"bad.cre:2: no description of a class."* ]]
	[ ! -e bad.h ]
	run odmcreate -h none.cre
	[ "$status" -eq 1 ]
	[[ $output == *"none.cre: No such file or directory"* ]]
	run odmshow nosuch
	[ "$status" -eq 1 ]
}
