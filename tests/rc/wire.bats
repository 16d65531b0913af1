#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# wire: the wire half of the link service with itself, between two network
# namespaces with a core each; "talk" is both ends, and checks every byte.
# lane: any

bats_require_minimum_version 1.5.0
OFED_A=${OFED_A:-rc$$a}
OFED_B=${OFED_B:-rc$$b}
load ../ofed/net

TALK=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}/obj/plain/tests/rc/talk
EID=SMC-R-TEST

suite_begin() {
	# GIDs of both versions of RoCE, as real devices have them.
	export OFED_CORE_ROCE_V2_MODE=2
	: >"$OFED_CONF"
	start_both
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
}

# Two of them, with these options each: what they say is in server and client.
begin_talk() { # options of the server
	rm -f "$BATS_TEST_TMPDIR/server" # of another two
	timeout -k 5 40 ip netns exec "$A" "$BIN/ofed_run" "$TALK" -l "$@" \
		>"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	TALKER=$!
	wait_for grep -q listening "$BATS_TEST_TMPDIR/server"
}

client() { # options
	in_ns "$B" "$TALK" -c "${TO:-$SERVER}" "$@" \
		>"$BATS_TEST_TMPDIR/client" 2>&1
}

both() { # options
	begin_talk "$@"
	client "$@" || { cat "$BATS_TEST_TMPDIR/client"; return 1; }
	wait "$TALKER" || { cat "$BATS_TEST_TMPDIR/server"; return 1; }
}

says() { # side, words of the sum...
	local side=$1 word

	shift
	for word in "$@"; do
		tail -n 1 "$BATS_TEST_TMPDIR/$side" | grep -qw -- "$word" || {
			echo "$side does not say $word:"
			cat "$BATS_TEST_TMPDIR/$side"
			return 1
		}
	done
}

@test "bytes go both ways over version 2 and version 1" {
	both -e "$EID"
	says client smc=1 bad=0
	says server smc=1 bad=0
	both
	says client smc=1 bad=0
}

@test "version 1 carries IPv6, too" {
	begin_talk -c ::
	TO=fd77::1 client || { cat "$BATS_TEST_TMPDIR/client"; return 1; }
	wait "$TALKER"
	says client smc=1 bad=0
}

@test "connections in turn use one link group" {
	both -e "$EID" -n 10 -b 20000
	says server smc=10 bad=0
}

@test "each way to close is seen as on TCP" {
	both -e "$EID" -x half -n 3 -o 3
	says server smc=3 reset=0 bad=0
	both -e "$EID" -x abort -n 3 -o 3
	says server smc=3 reset=3 bad=0
}

@test "rings of different sizes wrap" {
	begin_talk -e "$EID" -n 4 -b 2000000 -s 16384
	client -e "$EID" -n 4 -o 4 -b 2000000 -s 262144
	wait "$TALKER"
	says client smc=4 bad=0
	says server smc=4 bad=0
}

@test "300 connections are more than one link group" {
	both -q -e "$EID" -n 300 -o 300 -b 2000 -s 16384 -x hold -T 30
	says client smc=300 bad=0
	says server smc=300 bad=0
}

@test "a side without a device declines, and no byte is lost" {
	timeout -k 5 40 ip netns exec "$A" "$TALK" -l -e "$EID" \
		>"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	TALKER=$!
	wait_for grep -q listening "$BATS_TEST_TMPDIR/server"
	client -e "$EID"
	wait "$TALKER"
	says client tcp=1 bad=0 peer=NOSMCRDEV
	says server tcp=1 bad=0 reason=NOSMCRDEV

	begin_talk -e "$EID"
	timeout -k 5 30 ip netns exec "$B" "$TALK" -c "$SERVER" -e "$EID" \
		>"$BATS_TEST_TMPDIR/client" 2>&1
	wait "$TALKER"
	says client tcp=1 bad=0 reason=NOSMCRDEV
	says server tcp=1 bad=0 peer=NOSMCRDEV
}

@test "a peer that begins anew is known by its ID, and its old link is tested" {
	begin_talk -e "$EID" -n 2 -x hold -T 30
	ip netns exec "$B" "$BIN/ofed_run" "$TALK" -c "$SERVER" -e "$EID" \
		-n 2 -x hold >"$BATS_TEST_TMPDIR/first" 2>&1 3>&- &
	first=$!
	wait_for grep -q outcome=0 "$BATS_TEST_TMPDIR/server"
	sleep 1
	kill -KILL "$first"
	client -e "$EID" -x hold
	wait "$TALKER"
	says server smc=2 reset=1 bad=0
}

@test "a service that ends tells its peers" {
	begin_talk -e "$EID" -n 3 -x hold
	# The server reads what is there meanwhile.
	client -e "$EID" -n 3 -o 3 -x hold -E -w 1
	wait "$TALKER"
	says server smc=3 reset=3 bad=0
	grep -q "error=ECONNRESET" "$BATS_TEST_TMPDIR/server"
}
