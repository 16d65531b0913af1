#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# wire_seen: our own bytes between two hosts, read by Wireshark's dissector,
# which others wrote from the specification: each message of CLC, LLC and CDC is
# whole, and all of them and the packets of the queue pairs fit together.
# lane: any

bats_require_minimum_version 1.5.0
OFED_A=${OFED_A:-rs$$a}
OFED_B=${OFED_B:-rs$$b}
load ../ofed/net

TALK=${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}/obj/plain/tests/rc/talk
EID=SMC-R-TEST

suite_needs() {
	command -v tshark >/dev/null || echo "tshark is not installed"
}

suite_begin() {
	# GIDs of both versions of RoCE, as real devices have them.
	export OFED_CORE_ROCE_V2_MODE=2
	: >"$OFED_CONF"
	start_both
}

# Two of them talk, and are seen. ON_A and ON_B: "env" for a side without a
# device.
talk_seen() { # options of both
	capture_begin "$B" ent0
	rm -f "$BATS_TEST_TMPDIR/server" # of another two
	timeout -k 5 40 ip netns exec "$A" "${ON_A-$BIN/ofed_run}" "$TALK" -l \
		"$@" >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	TALKER=$!
	wait_for grep -q listening "$BATS_TEST_TMPDIR/server"
	timeout -k 5 40 ip netns exec "$B" "${ON_B-$BIN/ofed_run}" "$TALK" \
		-c "$SERVER" "$@" >"$BATS_TEST_TMPDIR/client" 2>&1
	wait "$TALKER"
	capture_end
}

mac_of() { # namespace
	ip -n "$1" -o link show ent0 | sed 's/.*ether \([^ ]*\).*/\1/'
}

seen() { # version, size of an RMBE, bytes of each side
	python3 "$BATS_TEST_DIRNAME/seen.py" "$CAPTURE" "$@" "$(mac_of "$A")" \
		"$(mac_of "$B")"
}

@test "version 2" {
	talk_seen -e "$EID" -n 2 -x half -b 3000
	seen 2 65536 3000
}

@test "version 1" {
	talk_seen -n 2 -x half -b 3000
	seen 1 65536 3000
}

@test "another size of RMBEs, and bytes that wrap" {
	talk_seen -e "$EID" -n 2 -x half -b 100000 -s 32768
	seen 2 32768 100000
}

# What the Decline says, and where from.
declined() { # sender, length, version, peer ID of its Proposal?
	run -0 captured "smc.clc_msg == 4" ip.src smc.length \
		smc.decline.smc.version smc.decline.osync smc.peer.diag.info
	echo "$output"
	[ "${lines[0]}" = "$(printf '%s\t' "$1" "$2" "$3" 0)$4" ]
	[ "${#lines[@]}" = 1 ]
	[ -z "$(captured "smc.clc_msg == 4 && _ws.malformed" frame.number)" ]
	# It is all that the segment has: eyecatchers at both ends.
	captured "smc.clc_msg == 4" tcp.payload |
		grep -q "^e2d4c3d904.*e2d4c3d9$"
}

@test "Decline of a server, and of a client, without a device" {
	local zeros=,0x00000000,0x00000000,0x00000000,0x00000000
	ON_A="env" talk_seen -e "$EID"
	declined "$SERVER" 44 2 "0x03030002$zeros"
	ON_B="env" talk_seen
	declined 10.77.0.2 28 1 0x03030002
}
