#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# clc_tshark: what our encoders make, read by Wireshark's dissector. It was
# written from the specification by others, so that a mistake which our encoder
# and our decoder share comes to light.
# lane: any

bats_require_minimum_version 1.5.0
: "${SMC_R_TOP:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${SMC_R_BUILD:=$SMC_R_TOP/build}"
messages=$SMC_R_BUILD/obj/plain/tests/cmd/smc_messages

setup() {
	command -v tshark >/dev/null || skip "tshark is not installed"
	command -v text2pcap >/dev/null || skip "text2pcap is not installed"
	# Whatever is in the user's profile must not change the output.
	export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
	capture=$BATS_TEST_TMPDIR/message.pcap
}

# capture_tcp NAME: a packet with the message as TCP payload.
capture_tcp() {
	local hex
	hex=$("$messages" "$1")
	echo "0000 $hex" | text2pcap -q -T 40000,5000 - "$capture"
}

# capture_roce NAME: a packet of RoCE v2 with the message in a SEND.
capture_roce() {
	local hex
	hex=$("$messages" "$1")
	echo "0000 04 80 ff ff 00 00 00 11 80 00 00 01 $hex 00 00 00 00" |
		text2pcap -q -u 49152,4791 - "$capture"
}

# field NAME: the values that the dissector finds for it.
field() {
	tshark -n -r "$capture" -T fields -e "$1" 2>/dev/null
}

# expect [malformed]: lines "FIELD VALUE" on standard input; all must be as they
# say, and nothing else may be malformed. Several values of one field are
# separated by commas.
expect() {
	local name value want=() names=(-e _ws.malformed) got i bad=0
	while read -r name value; do
		names+=(-e "$name")
		want+=("$value")
	done
	IFS='|' read -r -a got < <(tshark -n -r "$capture" -T fields \
		-E separator='|' "${names[@]}" 2>/dev/null; echo)
	if [ "${got[0]:+malformed}" != "${1-}" ]; then
		echo "the dissector says: ${got[0]:-not malformed}"
		bad=1
	fi
	for i in "${!want[@]}"; do
		if [ "${got[i + 1]-}" != "${want[i]}" ]; then
			echo "${names[2 * i + 3]}: expected '${want[i]}'," \
				"got '${got[i + 1]-}'"
			bad=1
		fi
	done
	return $bad
}

# The dissector wants an SMC-D area before the IP area, which version 1 does
# not have: it calls the captures of Linux malformed too. What it reads before
# that must be right.
@test "a Proposal of version 1" {
	capture_tcp proposal_v1
	expect malformed <<-'EOT'
		smc.clc_msg 1
		smc.length 52
		smc.proposal.smc.version 1
		smc.proposal.smc.type 0
		smc.proposal.sender.client.peer.id 0x1234020000aabb01
		smc.proposal.client.preferred.gid fe80::ff:feaa:bb01
		smc.proposal.client.preferred.mac 02:00:00:aa:bb:01
		smc.proposal.smcv1_subnet_ext_offset 0x0000
	EOT
}

@test "a Proposal of version 2" {
	capture_tcp proposal_v2
	expect <<-'EOT'
		smc.clc_msg 1
		smc.length 213
		smc.proposal.smc.version 2
		smc.proposal.smc.type 0
		smc.proposal.smcv2.type 0
		smc.proposal.sender.client.peer.id 0x1234020000aabb01
		smc.proposal.client.preferred.gid fe80::ff:feaa:bb01
		smc.proposal.client.preferred.mac 02:00:00:aa:bb:01
		smc.proposal.smcv1_subnet_ext_offset 0x0028
		smc.proposal.smcv2_ext_offset 0x0035
		smc.proposal.ipv6.prefix.count 1
		smc.proposal.ipv6.prefix.value 2001:db8::
		smc.proposal.ipv6.prefix.length 32
		smc.proposal.eid.count 2
		smc.proposal.ismv2_gid_count 0
		smc.proposal.smc.version.relnum 1
		smc.proposal.rocev2.gid.ipv4 192.168.10.5
		smc.proposal.smcdv2_ext_offset 0x0000
	EOT
	field smc.proposal.eid | grep -q \
		'^USERSPACE-SMC-TEST *,ANOTHER-EID *$'
}

@test "an Accept of version 1" {
	capture_tcp accept_v1
	expect <<-'EOT'
		smc.clc_msg 2
		smc.length 68
		smc.proposal.first.contact 1
		smc.accept.sender.server.peer.id 0x1234020000aabb01
		smc.accept.server.preferred.gid fe80::ff:feaa:bb01
		smc.accept.server.preferred.mac 02:00:00:aa:bb:01
		smc.accept.server.qp.number 0xe4f5a6
		smc.accept.server.rmb.rkey 0x157d2233
		smc.accept.server.tcp.conn.index 7
		smc.accept.server.rmb.element.alert.token 0x01020304
		smc.accept.rmb.buffer.size 2
		smc.accept.qp.mtu.value 3
		smc.accept.server.rmb.virtual.address 0x00007f0012345678
		smc.accept.initial.psn 0x72f5fe
	EOT
}

@test "a Confirm of version 1" {
	capture_tcp confirm_v1
	expect <<-'EOT'
		smc.clc_msg 3
		smc.length 68
		smc.confirm.sender.client.peer.id 0x1234020000aabb01
		smc.client.gid fe80::ff:feaa:bb01
		smc.confirm.client.mac 02:00:00:aa:bb:01
		smc.confirm.client.qp.number 0xe4f5a6
		smc.confirm.client.rmb.rkey 0x157d2233
		smc.confirm.client.tcp.conn.index 7
		smc.client.rmb.element.alert.token 0x01020304
		smc.confirm.rmb.buffer.size 2
		smc.confirm.qp.mtu.value 3
		smc.client.rmb.virtual.address 0x00007f0012345678
		smc.initial.psn 0x72f5fe
	EOT
}

@test "an Accept of version 2" {
	capture_tcp accept_v2
	expect <<-'EOT'
		smc.length 160
		smc.proposal.first.contact 1
		smc.accept.server.preferred.gid ::ffff:192.168.10.5
		smc.accept.server.qp.number 0xe4f5a6
		smc.accept.v2_lg.type 1
		smc.accept.os.type 2
		smc.accept.smc.version.relnum 1
	EOT
	field smc.accept.eid | grep -q '^USERSPACE-SMC-TEST *$'
	field smc.accept.peer.host.name | grep -q '^myhost *$'
}

@test "a Confirm of version 2" {
	capture_tcp confirm_v2
	expect <<-'EOT'
		smc.length 180
		smc.confirm.first.contact 1
		smc.client.gid ::ffff:192.168.10.5
		smc.confirm.os.type 2
		smc.confirm.smc.version.relnum 1
		smc.confirm.gid.list.entry_count 1
		smc.confirm.gid.list.entry ::ffff:192.168.10.5
	EOT
	field smc.confirm.eid | grep -q '^USERSPACE-SMC-TEST *$'
}

@test "a Decline of version 1 and of version 2" {
	capture_tcp decline_v1
	expect <<-'EOT'
		smc.clc_msg 4
		smc.length 28
		smc.decline.smc.version 1
		smc.decline.osync 1
		smc.sender.peer.id 0x1234020000aabb01
		smc.peer.diag.info 0x04000000
	EOT
	capture_tcp decline_v2
	expect <<-'EOT'
		smc.length 44
		smc.decline.smc.version 2
		smc.decline.osync 0
		smc.peer.diag.info 0x03030002,0x00000000,0x00000000,0x00000000,0x00000000
		smc.decline.os.type 2
	EOT
}

@test "a CDC message" {
	capture_roce cdc
	expect <<-'EOT'
		smc.llc_msg 0xfe
		smc.rmbe.ctrl.seqno 0x1234
		smc.rmbe.ctrl.alert.token 0xfedcba98
		smc.rmbe.ctrl.prod.wrap.seq 0x0102,0x0a0b
		smc.rmbe.ctrl.peer.prod.curs 0x00034567,0x000c0d0e
		smc.rmbe.ctrl.write.blocked 1
		smc.rmbe.ctrl.urgent.pending 0
		smc.rmbe.ctrl.urgent.present 0
		smc.rmbe.ctrl.cons.update.requested 1
		smc.rmbe.ctrl.failover.validation 0
		smc.rmbe.ctrl.peer.sending.done 0
		smc.rmbe.ctrl.peer.closed.conn 1
		smc.rmbe.ctrl.peer.abnormal.close 0
	EOT
}

@test "LLC messages for links" {
	capture_roce confirm_link
	expect <<-'EOT'
		smc.llc_msg 0x01
		smc.confirm.link.response 1
		smc.confirm.link.flags 0x83
		smc.confirm.link.sender.mac 02:00:00:aa:bb:01
		smc.sender.gid fe80::ff:feaa:bb01
		smc.confirm.link.sender.qp.number 0xe4f5a6
		smc.confirm.link.number 0x03
		smc.confirm.link.sender.link.userid 0x01020304
		smc.confirm.link.max.links 0x02
	EOT
	capture_roce add_link
	expect <<-'EOT'
		smc.llc_msg 0x02
		smc.add.link.response 1
		smc.add.link.response.rejected 1
		smc.add.link.sender.mac 02:00:00:aa:bb:01
		smc.add.link.sender.gid fe80::ff:feaa:bb01
		smc.add.link.sender.qp.number 0xe4f5a6
		smc.add.link.link.number 0x02
		smc.add.link.qp.mtu.value 3
		smc.add.link.initial.psn 0x123456
	EOT
	capture_roce delete_link
	expect <<-'EOT'
		smc.llc_msg 0x04
		smc.delete.link.response 0
		smc.delete.link.all 0
		smc.delete.link.orderly 1
		smc.delete.link.number 0x05
		smc.delete.link.reason.code 0x00010000
	EOT
	capture_roce test_link
	expect <<-'EOT'
		smc.llc_msg 0x07
		smc.test.link.response 1
	EOT
}

@test "LLC messages for keys" {
	capture_roce confirm_rkey
	expect <<-'EOT'
		smc.llc_msg 0x06
		smc.confirm.rkey.response 1
		smc.confirm.rkey.negative.response 1
		smc.confirm.rkey.retry.rkey.set 0
		smc.confirm.rkey.number.qp 1
		smc.confirm.rkey.new.rkey 0x01020304,0x21222324
		smc.confirm.rkey.new.virt 0x1112131415161718,0x3132333435363738
		smc.confirm.rkey.link.number 0x09
	EOT
	capture_roce delete_rkey
	expect <<-'EOT'
		smc.llc_msg 0x09
		smc.delete.rkey.response 0
		smc.delete.rkey.count 2
		smc.delete.rkey.deleted 0x01020304,0x11121314
	EOT
}
