#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# errors: what a command says when a call of the kernel fails: which file, why,
# and what to do about it.
# lane: any

load device
: "${database-}" "${device_public-}"

setup() {
	device_setup
}

teardown() {
	device_teardown
}

@test "every errno of every file that a command touches" {
	local place=$BATS_TEST_TMPDIR/place
	device_make_nobodys
	cp "$SMC_R_BUILD"/bin/{entstat,no,ofedctrl,ofed_core,smc_run,cfgmgr} \
		"$SMC_R_BUILD"/bin/{netstat,odm*,smit} "$device_public/build/bin"
	mkdir "$device_public/build/lib"
	cp "$SMC_R_BUILD"/lib/libsmc_r.so "$device_public/build/lib"
	cp "$SMC_R_BUILD/obj/plain/tests/cmd/one_fault.so" \
		"$SMC_R_TOP/tests/cmd/errors.py" "$device_public"
	place=$device_public/place
	mkdir "$place" "$place/core" "$place/tunables"
	printf 'delay_kill = 1\n' >"$place/ofed.conf"
	[ "$(id -u)" -ne 0 ] || chown -R 12345 "$place"
	export ODMDIR=$place/odm SMC_R_RUNDIR=$place/run
	export SMC_R_TUNABLES=$place/tunables OFED_CONF=$place/ofed.conf
	export OFED_CORE_RUNDIR=$place/core
	export SMC_R_LDPRELOAD_FILE=$place/preload SMC_R_LOCK_WAIT=0
	export HOME=$place TERM=vt100 LC_ALL=C.UTF-8
	as_nobody python3 "$device_public/errors.py" \
		"$device_public/one_fault.so" "$place"
}
