#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# cfgmgr: what is Defined becomes Available.

load device

setup() {
	device_setup
}

teardown() {
	device_teardown
}

@test "no database, no device: nothing to do" {
	says "" cfgmgr
	[ ! -e "$ODMDIR" ]
	refused cfgmgr -l smc_r0
	has "0514-519"
}

@test "a Defined device is configured, in silence; -f leaves it" {
	make_device
	chdev -q -l smc_r0 -a enabled=1
	rmdev -q -l smc_r0
	says "" cfgmgr -f
	[ "$(lsdev -l smc_r0 -F status)" = Defined ]
	says "" cfgmgr
	[ "$(lsdev -l smc_r0 -F status)" = Available ]
	[ "$(published enabled)" = 1 ]
	local generation
	generation=$(published generation)
	says "" cfgmgr -s -i /dev/cd0
	[ "$(published generation)" = "$generation" ]
}

@test "a host that was started anew" {
	make_device
	rm -r "$SMC_R_RUNDIR"
	says "" cfgmgr -l smc_r0
	[ "$(lsdev -l smc_r0 -F status)" = Available ]
}

@test "wrong use" {
	make_device
	local flags
	for flags in "-f -s" "-p 4" "-p 2 -l smc_r0" "-l" "-x"; do
		# shellcheck disable=SC2086
		refused cfgmgr $flags
		has Usage:
	done
	refused cfgmgr more
}
