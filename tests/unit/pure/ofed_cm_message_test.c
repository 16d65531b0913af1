/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ofed_core/pure/cm_message.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/hex.h"

#define HEADERS 48 /* IP, UDP, BTH, DETH of a captured datagram */

/* REQ and REP of the kernel's CM, as captured; zeros in between left out. */
static const char req_head[] =
    "45000134487c40004011dd280a0900020a090001d87212b7012000006400ffff"
    "00000001800000008001000000000001010702030000000000000002075e176b"
    "00100000000000006b175e07000000000000000001061c06505400fffe000002"
    "00000000000000000000130100000001000000a0fcce0da7ffff37f0ffffffff"
    "00000000000000000000ffff0a09000200000000000000000000ffff0a090001"
    "5e88200000400098";
static const char req_tail[] =
    "40b4040000000000000000000000000a0900020000000000"
    "000000000000000a090001";
static const char rep_head[] =
    "450001346b8640004011ba1e0a0900020a090001d87212b7012000006400ffff"
    "000000018000000080010000000000010107020300000000000000006f656664"
    "00130000000000007f920b76000010010000000000001300000000005b8e0200"
    "010178e0505400fffe000002";

static void load(struct cm_message *m, const char *head, const char *tail,
		 uint8_t mad[CM_MESSAGE_BYTES])
{
	uint8_t b[512] = {0};
	size_t n = hex_bytes(head, b, sizeof(b));

	/* The captured zeros stand for 45 bytes after the head. */
	hex_bytes(tail, b + n + 45, sizeof(b) - n - 45);
	memcpy(mad, b + HEADERS, CM_MESSAGE_BYTES);
	cr_assert_eq(cm_decode(m, mad, CM_MESSAGE_BYTES), 0);
}

Test(cm_message, kernel_request_is_understood)
{
	static const uint8_t peer[16] = {[10] = 0xff, 0xff, 10, 9, 0, 2};
	struct cm_message m;
	struct cm_ip_header ip;
	uint8_t mad[CM_MESSAGE_BYTES];

	load(&m, req_head, req_tail, mad);
	cr_assert_eq(m.kind, CM_REQ);
	cr_assert_eq(m.service_id, UINT64_C(0x0000000001061c06)); /* 7174 */
	cr_assert_eq(m.guid, UINT64_C(0x505400fffe000002));
	cr_assert_eq(m.qpn, 0x13);
	cr_assert_eq(m.psn, 0xfcce0d);
	cr_assert_eq(m.responder_resources, 1);
	cr_assert_eq(m.initiator_depth, 1);
	cr_assert_eq(m.remote_timeout, 20);
	cr_assert_eq(m.local_timeout, 20);
	cr_assert_eq(m.retry_count, 7);
	cr_assert_eq(m.rnr_retry, 7);
	cr_assert_eq(m.mtu, 3);
	cr_assert_eq(m.max_retries, 15);
	cr_assert_eq(m.flow_label, 0x5e882);
	cr_assert_eq(m.hop_limit, 64);
	cr_assert_eq(m.ack_timeout, 19);
	cr_assert_eq(memcmp(m.local_gid, peer, 16), 0);
	cr_assert_eq(m.private_bytes, 92);
	cr_assert_eq(cm_ip_decode(&ip, m.private_data, m.private_bytes), 0);
	cr_assert_not(ip.is_ip6);
	cr_assert_eq(ip.source_port, 0xb404);
	cr_assert_eq(memcmp(ip.source, peer, 16), 0);
}

Test(cm_message, kernel_reply_is_understood)
{
	struct cm_message m;
	uint8_t mad[CM_MESSAGE_BYTES];

	load(&m, rep_head, "", mad);
	cr_assert_eq(m.kind, CM_REP);
	cr_assert_eq(m.local_id, 0x7f920b76);
	cr_assert_eq(m.remote_id, 0x00001001);
	cr_assert_eq(m.qpn, 0x13);
	cr_assert_eq(m.psn, 0x5b8e02);
	cr_assert_eq(m.ack_delay, 15);
	cr_assert_eq(m.rnr_retry, 7);
	cr_assert_eq(m.guid, UINT64_C(0x505400fffe000002));
}

Test(cm_message, encoding_the_kernels_messages_gives_their_bytes)
{
	const char *heads[] = {req_head, rep_head};
	const char *tails[] = {req_tail, ""};

	for (size_t i = 0; i < 2; i++) {
		uint8_t out[CM_MESSAGE_BYTES];
		uint8_t mad[CM_MESSAGE_BYTES];
		struct cm_message m;

		load(&m, heads[i], tails[i], mad);
		cm_encode(&m, out);
		for (size_t k = 0; k < sizeof(mad); k++)
			cr_assert_eq(out[k], mad[k], "message %zu byte %zu", i,
				     k);
	}
}

Test(cm_message, every_kind_survives_the_way_there_and_back)
{
	for (int kind = CM_REQ; kind <= CM_SIDR_REP; kind++) {
		struct cm_message m = {.kind = (enum cm_kind)kind,
				       .transaction = 0x1122334455667788,
				       .local_id = 0xa1b2c3d4};
		struct cm_message back;
		uint8_t bytes[CM_MESSAGE_BYTES];

		m.private_bytes = cm_private_room(m.kind);
		memset(m.private_data, 0x5a, m.private_bytes);
		cm_encode(&m, bytes);
		cr_assert_eq(cm_decode(&back, bytes, sizeof(bytes)), 0);
		cr_assert_eq(back.kind, m.kind);
		cr_assert_eq(back.transaction, m.transaction);
		cr_assert_eq(back.local_id, m.local_id);
		cr_assert_eq(back.private_bytes, m.private_bytes);
		cr_assert_eq(
		    memcmp(back.private_data, m.private_data, m.private_bytes),
		    0);
	}
}

Test(cm_message, what_is_not_a_message_is_refused)
{
	struct cm_message m = {.kind = CM_RTU};
	uint8_t good[CM_MESSAGE_BYTES];

	cm_encode(&m, good);
	cr_assert_eq(cm_decode(&m, good, CM_MESSAGE_BYTES - 1), -EPROTO);
	for (size_t i = 0; i < 4; i++) {
		uint8_t bad[CM_MESSAGE_BYTES];

		memcpy(bad, good, sizeof(bad));
		bad[i] ^= 0xff;
		cr_assert_eq(cm_decode(&m, bad, sizeof(bad)), -EPROTO,
			     "byte %zu", i);
	}
	good[17] = CM_SIDR_REP + 1;
	cr_assert_eq(cm_decode(&m, good, sizeof(good)), -EPROTO);
}
