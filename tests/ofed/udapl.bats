#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# udapl: the provider of uDAPL, its attributes, levels and lines of dat.conf.

bats_require_minimum_version 1.5.0
load net

BUILD=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}

suite_needs() {
	[ -e "$BUILD/lib/libdaplofed_core.so" ] ||
		echo "libdapl-dev was missing when this was built"
	command -v dtest >/dev/null || echo "dtest is missing"
}

suite_begin() {
	start_both
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	export PATH=$BIN:$BUILD/samples:$PATH
	export DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf
	cd "$BATS_TEST_TMPDIR" || return
}

make_conf() {
	ip netns exec "$A" dat_conf -a
}

# As run leaves it.
stderr=

levels() { # DAT, DAPL, argument of dat_trace...
	local dat=$1 dapl=$2

	shift 2
	run -0 --separate-stderr env DAT_TRACE_LEVEL="$dat" \
		DAPL_TRACE_LEVEL="$dapl" ip netns exec "$A" ofed_run \
		dat_trace ent0 "$@"
}

@test "dat_conf: lines come and go, others stay" {
	line="ent0 u2.0 nonthreadsafe default $(readlink -f \
		"$BUILD/lib/libdaplofed_core.so") ofed.1.0 \"ent0 0\" \"\""
	[ "$(ip netns exec "$A" dat_conf)" = "$line" ]
	echo '# a word' >"$DAT_OVERRIDE"
	chmod 640 "$DAT_OVERRIDE"
	make_conf
	make_conf
	[ "$(cat "$DAT_OVERRIDE")" = "# a word
$line" ]
	[ "$(stat -c %a "$DAT_OVERRIDE")" = 640 ]
	dat_conf -r
	[ "$(cat "$DAT_OVERRIDE")" = "# a word" ]
	run -1 ip netns exec "$A" dat_conf -a -f /nonexistent/dat.conf
	[[ $output == *"/nonexistent/dat.conf cannot be made" ]]
	run -2 dat_conf -z
	run -1 env OFED_CORE_RUNDIR=/nonexistent dat_conf -a
	[ "$output" = "dat_conf: ofed_core is not loaded; load it with ofedctrl -l" ]
}

@test "the vendor-specific attributes" {
	make_conf
	run -0 in_ns "$A" dat_trace ent0
	[ "$output" = "\
delayed_ack_supported false
vendor_extension 1.0
vendor_ext_version 1.0
debug_query function
debug_modify function
DAT level 0, DAPL level 0
dat_lmr_sync_rdma_read: DAT_NOT_IMPLEMENTED" ]
}

@test "the trace levels, at first and while the program runs" {
	make_conf
	levels 2 0
	[[ $output == *"DAT level 2, DAPL level 0"* ]]
	[ "$stderr" = "5C8 dat_lmr_sync_rdma_read DAT_NOT_IMPLEMENTED" ]
	levels 3 0
	grep -qx "5C7 dat_ia_open" <<<"$stderr"
	grep -qx "5C7 dat_ia_close" <<<"$stderr"
	[[ $stderr != *"5C3 "* && $stderr != *"5C4 "* ]]
	levels 0 7
	grep -qx "5C3 dat_ia_open done" <<<"$stderr"
	grep -q "^5C4 dat_lmr_sync_rdma_read DAT_NOT_IMPLEMENTED" <<<"$stderr"
	[[ $stderr != *"5C7 "* && $stderr != *"5C8 "* ]]
	[[ $output == *"dbg_type=ffff"* ]]
	levels 11 x 10 1
	[[ $output == *"DAT level 10, DAPL level 1"* ]]
	[[ $stderr == "5C7 dat_lmr_sync_rdma_read"* ]]
	run -1 in_ns "$A" dat_trace ent0 11 0
	[[ $output == *"dat_trclvl_modify: DAT_INVALID_PARAMETER"* ]]
}

@test "calls that AIX does not have are not implemented" {
	make_conf
	run in_ns "$A" "$BUILD/obj/plain/tests/ofed/dat_unsupported" ent0
	echo "$output"
	[ "$output" = "12 not implemented" ]
}

@test "dtest over the provider, on one host and between two" {
	make_conf
	for n in "$A" "$B"; do
		pair "$n" "dtest -B 10 -b 1000 -s -P ent0" \
			"dtest -B 10 -b 1000 -h $SERVER -P ent0"
	done
}

@test "the examples of dat_conf(8) and udapl(7)" {
	for page in dat_conf.8 udapl.7; do
		ip netns exec "$A" "$BATS_TEST_DIRNAME/../cmd/examples.sh" \
			"$BATS_TEST_DIRNAME/../../man/$page"
	done
}
