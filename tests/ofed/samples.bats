#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# samples: the sample programs over the core, within one host and between two.

bats_require_minimum_version 1.5.0
load net

SAMPLES=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}/samples
SOURCES=$BATS_TEST_DIRNAME/../../samples

suite_begin() {
	start_both
}

# A server for so many clients in $A; its output: $BATS_TEST_TMPDIR/server.
start_server() { # clients
	in_ns "$A" "$SAMPLES/server" "$1" >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	SERVER_PID=$!
	wait_for listens "$A" "$SERVER_PID"
}

@test "the sum comes back, on one host and between two" {
	start_server 4
	[ "$(in_ns "$A" "$SAMPLES/client" "$SERVER" 3 4)" = "3 + 4 = 7" ]
	[ "$(in_ns "$B" "$SAMPLES/client" "$SERVER" 0x10 4294967295)" = \
		"16 + 4294967295 = 15" ]
	[ "$(in_ns "$B" "$SAMPLES/client" fd77::1 1 2)" = "1 + 2 = 3" ]
	[ "$(in_ns "$A" "$SAMPLES/client" fd77::1 5 6)" = "5 + 6 = 11" ]
	wait "$SERVER_PID"
	[ "$(sort "$BATS_TEST_TMPDIR/server")" = "\
1 + 2 = 3
16 + 4294967295 = 15
3 + 4 = 7
5 + 6 = 11" ]
}

@test "many clients at once get each their own sum" {
	local i n

	start_server 12
	for i in 1 2 3 4 5 6; do
		for n in "$A" "$B"; do
			in_ns "$n" "$SAMPLES/client" "$SERVER" $i 100 3>&- \
				>"$BATS_TEST_TMPDIR/$n.$i" 2>&1 &
		done
	done
	wait
	for i in 1 2 3 4 5 6; do
		for n in "$A" "$B"; do
			[ "$(cat "$BATS_TEST_TMPDIR/$n.$i")" = \
				"$i + 100 = $((100 + i))" ]
		done
	done
}

@test "without a server the client is refused" {
	run -1 in_ns "$B" "$SAMPLES/client" "$SERVER" 1 2
	[[ $output == "client: RDMA_CM_EVENT_REJECTED "* ]]
}

@test "wrong words print the usage" {
	for words in "" "x" "x 1" "x 1 y" "x -1 2" "x 1 4294967296"; do
		# shellcheck disable=SC2086
		run -2 "$SAMPLES/client" $words
		[ "$output" = "usage: client SERVER VALUE1 VALUE2" ]
	done
	run -2 "$SAMPLES/server" x
	run -2 "$SAMPLES/check_ofed_verbs_support"
}

@test "check_ofed_verbs_support tells who can be reached" {
	local check=$SAMPLES/check_ofed_verbs_support

	[ "$(in_ns "$B" "$check" "$SERVER")" = "$SERVER: OFED verbs by ent0" ]
	[ "$(in_ns "$B" "$check" fd77::1)" = "fd77::1: OFED verbs by ent0" ]
	[ "$(in_ns "$A" "$check" "$SERVER")" = "$SERVER: OFED verbs by ent0" ]
	run -1 in_ns "$B" "$check" 198.51.100.1
	[[ $output == "198.51.100.1: no OFED verbs: "* ]]
	# Without the shim there is no RDMA.
	if [ ! -e /dev/infiniband/rdma_cm ]; then
		run -1 ip netns exec "$B" "$check" "$SERVER"
		[[ $output == *"$SERVER: no OFED verbs: "* ]]
	fi
}

@test "a sample that is linked with the shim needs no ofed_run" {
	local lib

	need cc
	lib=$(dirname "$SAMPLES")/lib
	cc -o "$BATS_TEST_TMPDIR/client" "$SOURCES/client.c" -L"$lib" \
		-Wl,-rpath,"$lib" -Wl,--no-as-needed -lofed_core -lrdmacm \
		-libverbs
	start_server 1
	run -0 ip netns exec "$B" "$BATS_TEST_TMPDIR/client" "$SERVER" 20 22
	[ "$output" = "20 + 22 = 42" ]
	wait "$SERVER_PID"
}
