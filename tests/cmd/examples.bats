#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# examples: what the EXAMPLES of the man pages show is what happens.
# lane: any

setup() {
	top=${SMC_R_TOP:-$PWD}
	export PATH="${SMC_R_BUILD:-$top/build}/bin:$PATH"
	export ODMDIR="$BATS_TEST_TMPDIR/odm" SMC_R_RUNDIR="$BATS_TEST_TMPDIR/run"
	export OFED_CONF="$BATS_TEST_TMPDIR/ofed.conf"
	export OFED_CORE_RUNDIR="$BATS_TEST_TMPDIR/ofed"
	mkdir -p "$ODMDIR"
}

teardown() {
	# Takes what root attached out of the kernel again.
	rmdev -dl smc_r0 >/dev/null 2>&1 || true
}

@test "mkdev(8)" { "$top/tests/cmd/examples.sh" "$top/man/mkdev.8"; }
@test "rmdev(8)" { "$top/tests/cmd/examples.sh" "$top/man/rmdev.8"; }
@test "chdev(8)" { "$top/tests/cmd/examples.sh" "$top/man/chdev.8"; }
@test "lsattr(8)" { "$top/tests/cmd/examples.sh" "$top/man/lsattr.8"; }
@test "lsdev(8)" { "$top/tests/cmd/examples.sh" "$top/man/lsdev.8"; }
@test "entstat(8)" { "$top/tests/cmd/examples.sh" "$top/man/entstat.8"; }
@test "odmget(8)" { "$top/tests/cmd/examples.sh" "$top/man/odmget.8"; }
@test "odmadd(8)" { "$top/tests/cmd/examples.sh" "$top/man/odmadd.8"; }
@test "odmchange(8)" { "$top/tests/cmd/examples.sh" "$top/man/odmchange.8"; }
@test "odmdelete(8)" { "$top/tests/cmd/examples.sh" "$top/man/odmdelete.8"; }
@test "odmshow(8)" { "$top/tests/cmd/examples.sh" "$top/man/odmshow.8"; }
@test "odmcreate(8)" { "$top/tests/cmd/examples.sh" "$top/man/odmcreate.8"; }
@test "cfgmgr(8)" { "$top/tests/cmd/examples.sh" "$top/man/cfgmgr.8"; }
@test "netstat(8)" { "$top/tests/cmd/examples.sh" "$top/man/netstat.8"; }
@test "smit(8)" { "$top/tests/cmd/examples.sh" "$top/man/smit.8"; }
@test "no(8)" { "$top/tests/cmd/examples.sh" "$top/man/no.8"; }
@test "ofedctrl(8)" { "$top/tests/cmd/examples.sh" "$top/man/ofedctrl.8"; }
@test "ofed_core(8)" { "$top/tests/cmd/examples.sh" "$top/man/ofed_core.8"; }
@test "ofed.conf(5)" { "$top/tests/cmd/examples.sh" "$top/man/ofed.conf.5"; }
@test "smc_run(8)" { "$top/tests/cmd/examples.sh" "$top/man/smc_run.8"; }
@test "attrdb(5)" { "$top/tests/cmd/examples.sh" "$top/man/attrdb.5"; }
@test "smc_r(7)" { "$top/tests/cmd/examples.sh" "$top/man/smc_r.7"; }

@test "every page whose examples run has a test here" {
	for page in "$top"/man/*.[1-9]; do
		name=$(basename "$page")
		# Their examples need a network interface for the core.
		[ "$name" != ofed_run.8 ] || continue
		[ "$name" != ibv_devinfo.8 ] || continue
		# They run in tests/ofed, which has one.
		[ "$name" != ibv_devices.8 ] || continue
		[ "$name" != rping.8 ] || continue
		[ "$name" != dat_conf.8 ] || continue
		[ "$name" != udapl.7 ] || continue
		sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$page" |
			grep -q '^[#$] ' || continue
		grep -q "man/$name\"" "$BATS_TEST_FILENAME" || {
			echo "no test runs the examples of $name"
			false
		}
	done
}
