#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# rmdev: refused while somebody uses the device, and complete otherwise.

load device
: "${living-}" "${dead-}"

setup() {
	device_setup
	make_device -a enabled=1
}

teardown() {
	device_teardown
}

# An engine in process $1 with $2 active connections, as its status tells; $4:
# when the process started, if it cannot be asked any more.
forge_user() { # pid, connections, program [, start]
	local i
	{
		echo "segment $1 ${4-}"
		echo "program $3"
		for ((i = 0; i < $2; i++)); do
			echo "slot 1 1 1 127.0.0.1 7000" \
				"127.0.0.1 $((40000 + i)) 0 0 1"
		done
	} | forge >/dev/null
}

@test "it becomes Defined, and keeps its values" {
	says "smc_r0 Defined" rmdev -l smc_r0
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
	[ "$(od -An -tu8 -N8 "$SMC_R_RUNDIR/generation" | tr -d ' ')" = 2 ]
	says "smc_r0 Defined  Shared Memory Communications over RDMA" lsdev
	[ "$(stored enabled)" = 1 ]
	says "smc_r0 Defined" rmdev -l smc_r0
}

@test "with -d it is gone, with its values" {
	says "smc_r0 deleted" rmdev -dl smc_r0
	says "" lsdev -C
	says "" odmget CuDv CuAt
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
	refused rmdev -l smc_r0
	has "rmdev: 0514-519 "
	mkdev -q -c tcpip -t smc_r
	[ "$(published enabled)" = 0 ]
}

@test "one that is Defined can be deleted" {
	rmdev -q -l smc_r0
	says "smc_r0 deleted" rmdev -d -l smc_r0
}

@test "in use it is refused, and the users are named" {
	start_living
	local one=$living
	forge_user "$one" 1 redis-server
	start_living
	forge_user "$living" 3 client
	local first="client (pid $living): 3 connections"
	local second="redis-server (pid $one): 1 connection"
	[ "$living" -lt "$one" ] || {
		first="redis-server (pid $one): 1 connection"
		second="client (pid $living): 3 connections"
	}
	for flags in "-l" "-dl" "-g -l" "-R -l"; do
		# shellcheck disable=SC2086
		refused rmdev $flags smc_r0
		[ "$output" = "Method error (/usr/lib/methods/ucfgsmcr):
	0514-062 Cannot perform the requested function because the
	         specified device is busy.
	         $first
	         $second" ]
	done
}

@test "connections of processes that ended do not hold it" {
	make_dead
	forge_user "$dead" 5 gone 1
	says "smc_r0 Defined" rmdev -l smc_r0
}

@test "a process without connections does not hold it" {
	start_living
	forge_user "$living" 0 idle
	says "smc_r0 Defined" rmdev -l smc_r0
}

@test "many users are counted when they are too many to be named" {
	local i
	for ((i = 0; i < 35; i++)); do
		start_living
		forge_user "$living" 1 "user$i"
	done
	refused rmdev -l smc_r0
	[ "$(grep -c ': 1 connection$' <<<"$output")" -eq 32 ]
	has "and 3 processes more"
}

@test "-S has nothing to stop" {
	says "smc_r0 Available" rmdev -S -l smc_r0
	[ -e "$SMC_R_RUNDIR/smc_r0" ]
}

@test "-p acts on children, -R on both, children first" {
	sqlite3 "$ODMDIR/attr.db" "PRAGMA foreign_keys = ON;
		INSERT INTO CuDv VALUES ('child1', 1, 2, '', '', 'smc_r0', '',
			'tcpip/smc/x'), ('child2', 0, 2, '', '', 'child1', '',
			'tcpip/smc/x')" 2>/dev/null && false
	sqlite3 "$ODMDIR/attr.db" "INSERT INTO PdDv (uniquetype, type, class,
		subclass, prefix) VALUES ('tcpip/smc/x', 'x', 'tcpip', 'smc',
		'child');
		INSERT INTO CuDv VALUES ('child1', 1, 2, '', '', 'smc_r0', '',
			'tcpip/smc/x'), ('child2', 0, 2, '', '', 'child1', '',
			'tcpip/smc/x')"
	refused rmdev -l smc_r0
	has "0514-029"
	has "child child1 is Available"
	says "child2 Defined
child1 Defined" rmdev -p smc_r0
	says "smc_r0 Defined" rmdev -l smc_r0
	refused rmdev -dl smc_r0
	has "child child1 is defined"
	mkdev -q -l smc_r0
	says "child2 deleted
child1 deleted
smc_r0 deleted" rmdev -d -R -l smc_r0
	refused rmdev -p nosuch
	has "0514-519"
}

@test "without a database there is no such device" {
	ODMDIR=$BATS_TEST_TMPDIR/none run rmdev -l smc_r0
	[ "$status" -eq 1 ]
	has "0514-519"
	[ ! -e "$BATS_TEST_TMPDIR/none" ]
}

@test "wrong use shows the usage" {
	for flags in "" "-d" "-l" "-l smc_r0 -p smc_r0" "-d -S -l smc_r0"; do
		# shellcheck disable=SC2086
		refused rmdev $flags
		has "rmdev: 0514-511 "
		has "Usage:
	rmdev "
	done
	refused rmdev smc_r0
	has "0514-546 Invalid parameter - smc_r0."
	run rmdev -h
	[ "$status" -eq 0 ]
	run rmdev -q -l nosuch
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	says "" rmdev -q -l smc_r0
}

@test "the settings of another run directory stay" {
	local other=$BATS_TEST_TMPDIR/other
	ODMDIR=$other/odm SMC_R_RUNDIR=$other mkdir -p "$other/odm"
	ODMDIR=$other/odm SMC_R_RUNDIR=$other/run mkdev -q -c tcpip -t smc_r
	rmdev -q -dl smc_r0
	[ -e "$other/run/smc_r0" ]
	ODMDIR=$other/odm SMC_R_RUNDIR=$other/run rmdev -q -dl smc_r0
}

# A device of its own, below a directory that may go.
elsewhere() { # directory
	mkdir "$1"
	ODMDIR=$1/odm SMC_R_RUNDIR=$1/run mkdev -q -c tcpip -t smc_r
}

# Prints the programs that are pinned.
pins_of() {
	find /sys/fs/bpf/smc_r -name rundir -printf '%l\n' | sort
}

# Nobody could take them out of the kernel otherwise.
@test "programs whose run directory is gone go with the next mkdev, or rmdev" {
	local gone=$BATS_TEST_TMPDIR/gone other=$BATS_TEST_TMPDIR/other
	[ -n "$(find /sys/fs/bpf/smc_r -name rundir 2>/dev/null)" ] ||
		skip "no BPF programs can be attached here"
	elsewhere "$other"
	elsewhere "$gone"
	[ "$(pins_of)" = "$gone/run
$other/run
$SMC_R_RUNDIR" ]
	rm -r "$gone"
	rmdev -q -l smc_r0
	[ "$(pins_of)" = "$other/run" ]
	elsewhere "$gone"
	rm -r "$gone"
	mkdev -q -l smc_r0
	[ "$(pins_of)" = "$other/run
$SMC_R_RUNDIR" ]
	# There its run directory may be.
	unshare --mount sh -ec "mkdir '$gone' && mount -t tmpfs tmpfs '$gone' &&
		ODMDIR='$gone/odm' SMC_R_RUNDIR='$gone/run' \
			mkdev -q -c tcpip -t smc_r"
	rmdir "$gone"
	rmdev -q -l smc_r0
	[ "$(pins_of)" = "$gone/run
$other/run" ]
	mkdir -p "$gone/run"
	ODMDIR=$gone/odm SMC_R_RUNDIR=$gone/run mkdev -q -c tcpip -t smc_r
	ODMDIR=$gone/odm SMC_R_RUNDIR=$gone/run rmdev -q -dl smc_r0
	ODMDIR=$other/odm SMC_R_RUNDIR=$other/run rmdev -q -dl smc_r0
}
