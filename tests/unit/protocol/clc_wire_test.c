/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/clc_wire.h"
#include "tests/unit/hex.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Captured from Linux before 5.10, on a loopback interface. */
#define PROPOSAL_IP4                                                           \
	"e2d4c3d9 01 0034 10 b1a098039babcdef "                                \
	"fe800000000000009a039bfffeabcdef"                                     \
	"98039babcdef 0000 7f000000 08 0000 00 e2d4c3d9"
#define PROPOSAL_IP6                                                           \
	"e2d4c3d9 01 0045 10 394498039babcdef "                                \
	"fe800000000000009a039bfffeabcdef"                                     \
	"98039babcdef 0000 00000000 00 0000 01"                                \
	"00000000000000000000000000000001 80 e2d4c3d9"
#define ACCEPT_V1                                                              \
	"e2d4c3d9 02 0044 18 b1a098039babcdef "                                \
	"fe800000000000009a039bfffeabcdef"                                     \
	"98039babcdef 0000e4 0000157d 01 00000005 23 00 00000000f0a60000 00"   \
	"72f5fe e2d4c3d9"
#define CONFIRM_V1                                                             \
	"e2d4c3d9 03 0044 10 b1a098039babcdef "                                \
	"fe800000000000009a039bfffeabcdef"                                     \
	"98039babcdef 0000e5 0000187f 01 00000006 23 00 00000000f0a40000 00"   \
	"0d89a4 e2d4c3d9"
#define DECLINE_NO_DEVICE                                                      \
	"e2d4c3d9 04 001c 10 2525252525252500 03030000 00000000 e2d4c3d9"

/* Written by hand from the tables of the protocol. */
#define ZEROS_4  "00000000"
#define ZEROS_20 ZEROS_4 ZEROS_4 ZEROS_4 ZEROS_4 ZEROS_4
#define EID_TEXT "USERSPACE-SMC-TEST              "
#define EID_HEX                                                                \
	"5553455253504143452d534d432d544553542020202020202020202020202020"
#define HOST_TEXT "myhost                          "
#define HOST_HEX                                                               \
	"6d79686f73742020202020202020202020202020202020202020202020202020"
#define GID_V2_HEX "00000000000000000000ffffc0a80a05"
#define SENDER_HEX                                                             \
	"1234020000aabb01 fe80000000000000000000fffeaabb01 020000aabb01"
#define SENDER_V2_HEX "1234020000aabb01" GID_V2_HEX "020000aabb01"
#define V2_HEX                                                                 \
	"01 00 00 10 0000 0000" GID_V2_HEX                                     \
	"ff 02 0001" ZEROS_4 ZEROS_4 ZEROS_4 EID_HEX
#define EXTENSION_HEX "80 21 0000" HOST_HEX "ff 02 0001" ZEROS_4 ZEROS_4 ZEROS_4

#define PROPOSAL_LONG                                                          \
	"e2d4c3d9 01 005c 28" SENDER_HEX "0028 0000000000000000 0000 0000"     \
	"000000 0000000000" ZEROS_20 "c0a80a00 18 0000 00 e2d4c3d9"
#define PROPOSAL_BOTH                                                          \
	"e2d4c3d9 01 00a4 20" SENDER_HEX "0028 0000000000000000 0000 0024"     \
	"000000 0000000000" ZEROS_20 "c0a80a00 18 0000 00" V2_HEX "e2d4c3d9"
#define PROPOSAL_V2                                                            \
	"e2d4c3d9 01 009c 22" SENDER_HEX "0000 0000000000000000 0000 001c"     \
	"000000 0000000000" ZEROS_20 V2_HEX "e2d4c3d9"
#define ACCEPT_V2                                                              \
	"e2d4c3d9 02 00a0 28" SENDER_V2_HEX                                    \
	"0000e4 0000157d 01 00000005 23 00"                                    \
	"00007f0012340000 00 72f5fe" EID_HEX "0000000000000000" EXTENSION_HEX  \
	"e2d4c3d9"
#define CONFIRM_V2                                                             \
	"e2d4c3d9 03 00b4 28" SENDER_V2_HEX                                    \
	"0000e5 0000187f 01 00000006 23 00"                                    \
	"00007f0056780000 00 0d89a4" EID_HEX "0000000000000000" EXTENSION_HEX  \
	"01 000000" GID_V2_HEX "e2d4c3d9"
#define DECLINE_SYNC                                                           \
	"e2d4c3d9 04 001c 18 1234020000aabb01 04000000 00000000 e2d4c3d9"
#define DECLINE_V2                                                             \
	"e2d4c3d9 04 002c 20 1234020000aabb01 03030002 20 000000" ZEROS_4      \
	    ZEROS_4 ZEROS_4 ZEROS_4 "e2d4c3d9"

/* An SMC-D Accept of version 1: a server may answer what was not offered. */
#define ACCEPT_SMCD                                                            \
	"e2d4c3c4 02 0030 19 0102030405060708 1112131415161718 01 20 0000"     \
	"00000001 000000000000000000000000 e2d4c3c4"

static const struct {
	const char *name;
	const char *hex;
	size_t length;
	int type;
} messages[] = {
    {"proposal ip4", PROPOSAL_IP4, 52, CLC_PROPOSAL},
    {"proposal ip6", PROPOSAL_IP6, 69, CLC_PROPOSAL},
    {"accept v1", ACCEPT_V1, 68, CLC_ACCEPT},
    {"confirm v1", CONFIRM_V1, 68, CLC_CONFIRM},
    {"decline no device", DECLINE_NO_DEVICE, 28, CLC_DECLINE},
    {"proposal long", PROPOSAL_LONG, 92, CLC_PROPOSAL},
    {"proposal v1 and v2", PROPOSAL_BOTH, 164, CLC_PROPOSAL},
    {"proposal v2", PROPOSAL_V2, 156, CLC_PROPOSAL},
    {"accept v2", ACCEPT_V2, 160, CLC_ACCEPT},
    {"confirm v2", CONFIRM_V2, 180, CLC_CONFIRM},
    {"decline out of sync", DECLINE_SYNC, 28, CLC_DECLINE},
    {"decline v2", DECLINE_V2, 44, CLC_DECLINE},
};

#define MESSAGE_COUNT (sizeof(messages) / sizeof(messages[0]))

static const uint8_t peer_old[] = {0xb1, 0xa0, 0x98, 0x03,
				   0x9b, 0xab, 0xcd, 0xef};
static const uint8_t gid_old[] = {0xfe, 0x80, 0,    0,    0,    0,
				  0,    0,    0x9a, 0x03, 0x9b, 0xff,
				  0xfe, 0xab, 0xcd, 0xef};
static const uint8_t mac_old[] = {0x98, 0x03, 0x9b, 0xab, 0xcd, 0xef};
static const uint8_t gid_v2[] = {0, 0, 0,    0,    0,    0,    0,    0,
				 0, 0, 0xff, 0xff, 0xc0, 0xa8, 0x0a, 0x05};

static size_t bytes_of(const char *hex, uint8_t *out)
{
	return hex_decode(hex, out, CLC_BYTES_MAX);
}

static int encode(const struct clc_message *m, uint8_t *out, size_t room)
{
	switch (m->type) {
	case CLC_PROPOSAL:
		return clc_encode_proposal(&m->proposal, out, room);
	case CLC_ACCEPT:
	case CLC_CONFIRM:
		return clc_encode_accept_confirm(&m->accept_confirm, out, room);
	case CLC_DECLINE:
		return clc_encode_decline(&m->decline, out, room);
	}
	return -EINVAL;
}

/* Decodes from a block of exactly that size, so that ASan sees over-reads. */
static int decode(struct clc_message *m, const uint8_t *bytes, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);
	int error;

	memcpy(exact, bytes, n);
	memset(m, 0xa5, sizeof(*m));
	error = clc_decode(m, exact, n);
	free(exact);
	return error;
}

static void decode_hex(struct clc_message *m, const char *hex)
{
	uint8_t bytes[CLC_BYTES_MAX];
	size_t n = bytes_of(hex, bytes);

	cr_assert_eq(decode(m, bytes, n), 0);
}

Test(clc_wire, every_vector_survives_decoding_and_encoding)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[CLC_BYTES_MAX];
		uint8_t again[CLC_BYTES_MAX];
		size_t n = bytes_of(messages[i].hex, bytes);
		struct clc_message m;

		cr_assert_eq(n, messages[i].length, "%s", messages[i].name);
		cr_assert_eq(decode(&m, bytes, n), 0, "%s", messages[i].name);
		cr_assert_eq(m.type, messages[i].type);
		cr_assert_eq(encode(&m, again, sizeof(again)), (int)n, "%s",
			     messages[i].name);
		cr_assert_eq(memcmp(bytes, again, n), 0, "%s",
			     messages[i].name);
	}
}

Test(clc_wire, the_captured_proposal_says_what_the_capture_says)
{
	struct clc_message m;
	const struct clc_proposal *p = &m.proposal;

	decode_hex(&m, PROPOSAL_IP4);
	cr_assert_eq(p->version, 1);
	cr_assert_eq(p->path_v1, CLC_PATH_SMCR);
	cr_assert_eq(p->path_v2, CLC_PATH_NONE);
	cr_assert_eq(memcmp(p->peer_id, peer_old, 8), 0);
	cr_assert_eq(memcmp(p->gid, gid_old, 16), 0);
	cr_assert_eq(memcmp(p->mac, mac_old, 6), 0);
	cr_assert_eq(p->subnet, 0x7f000000);
	cr_assert_eq(p->subnet_bits, 8);
	cr_assert_eq(p->prefix_count, 0);

	decode_hex(&m, PROPOSAL_IP6);
	cr_assert_eq(p->prefix_count, 1);
	cr_assert_eq(p->prefix[0].bits, 128);
	cr_assert_eq(p->prefix[0].address[15], 1);
	cr_assert_eq(p->subnet_bits, 0);
}

Test(clc_wire, the_captured_accept_and_confirm_say_what_the_capture_says)
{
	struct clc_message m;
	const struct clc_accept_confirm *a = &m.accept_confirm;

	decode_hex(&m, ACCEPT_V1);
	cr_assert_eq(a->type, CLC_ACCEPT);
	cr_assert_eq(a->version, 1);
	cr_assert_eq(a->path, CLC_PATH_SMCR);
	cr_assert(a->first_contact);
	cr_assert_eq(memcmp(a->peer_id, peer_old, 8), 0);
	cr_assert_eq(memcmp(a->gid, gid_old, 16), 0);
	cr_assert_eq(memcmp(a->mac, mac_old, 6), 0);
	cr_assert_eq(a->qpn, 228);
	cr_assert_eq(a->rkey, 5501);
	cr_assert_eq(a->index, 1);
	cr_assert_eq(a->token, 5);
	cr_assert_eq(a->size_code, 2);
	cr_assert_eq(CLC_RMBE_BYTES_MIN << a->size_code, 65536);
	cr_assert_eq(a->mtu, 3);
	cr_assert_eq(a->address, 0xf0a60000);
	cr_assert_eq(a->psn, 0x72f5fe);

	decode_hex(&m, CONFIRM_V1);
	cr_assert_eq(a->type, CLC_CONFIRM);
	cr_assert(!a->first_contact);
	cr_assert_eq(a->qpn, 229);
	cr_assert_eq(a->rkey, 6271);
	cr_assert_eq(a->token, 6);
	cr_assert_eq(a->address, 0xf0a40000);
	cr_assert_eq(a->psn, 0x0d89a4);
}

Test(clc_wire, a_proposal_of_version_2_has_its_eids_and_limits)
{
	const char *const texts[] = {PROPOSAL_BOTH, PROPOSAL_V2};

	for (int i = 0; i < 2; i++) {
		struct clc_message m;
		const struct clc_proposal *p = &m.proposal;

		decode_hex(&m, texts[i]);
		cr_assert_eq(p->version, 2);
		cr_assert_eq(p->path_v1, i ? CLC_PATH_NONE : CLC_PATH_SMCR);
		cr_assert_eq(p->path_v2, CLC_PATH_SMCR);
		cr_assert_eq(p->subnet, i ? 0 : 0xc0a80a00);
		cr_assert_eq(p->subnet_bits, i ? 0 : 24);
		cr_assert_eq(p->release, 1);
		cr_assert_eq(memcmp(p->gid_v2, gid_v2, 16), 0);
		cr_assert_eq(p->connections_max, 255);
		cr_assert_eq(p->links_max, 2);
		cr_assert_eq(p->features, 1);
		cr_assert_eq(p->eid_count, 1);
		cr_assert_eq(memcmp(p->eid[0], EID_TEXT, CLC_EID_BYTES), 0);
	}
}

Test(clc_wire, a_long_proposal_may_offer_version_1_only)
{
	struct clc_message m;

	decode_hex(&m, PROPOSAL_LONG);
	cr_assert_eq(m.proposal.version, 2);
	cr_assert_eq(m.proposal.path_v1, CLC_PATH_SMCR);
	cr_assert_eq(m.proposal.path_v2, CLC_PATH_NONE);
	cr_assert_eq(m.proposal.subnet, 0xc0a80a00);
	cr_assert_eq(m.proposal.eid_count, 0);
}

Test(clc_wire, accept_and_confirm_of_version_2_have_their_extension)
{
	const char *const texts[] = {ACCEPT_V2, CONFIRM_V2};

	for (int i = 0; i < 2; i++) {
		struct clc_message m;
		const struct clc_accept_confirm *a = &m.accept_confirm;

		decode_hex(&m, texts[i]);
		cr_assert_eq(a->version, 2);
		cr_assert(a->first_contact);
		cr_assert_eq(memcmp(a->eid, EID_TEXT, CLC_EID_BYTES), 0);
		cr_assert(a->direct);
		cr_assert_eq(a->os, CLC_OS_LINUX);
		cr_assert_eq(a->release, 1);
		cr_assert_eq(memcmp(a->host, HOST_TEXT, CLC_HOST_BYTES), 0);
		cr_assert_eq(a->connections_max, 255);
		cr_assert_eq(a->links_max, 2);
		cr_assert_eq(a->features, 1);
		cr_assert_eq(a->gid_count, i);
		cr_assert_eq(a->address, i ? 0x7f0056780000 : 0x7f0012340000);
		if (i)
			cr_assert_eq(memcmp(a->gids[0], gid_v2, 16), 0);
	}
}

Test(clc_wire, a_decline_has_its_reason)
{
	struct clc_message m;

	decode_hex(&m, DECLINE_NO_DEVICE);
	cr_assert_eq(m.decline.reason, 0x03030000);
	cr_assert(!m.decline.out_of_sync);
	cr_assert_eq(m.decline.version, 1);
	cr_assert_eq(m.decline.peer_id[0], 0x25);

	decode_hex(&m, DECLINE_SYNC);
	cr_assert_eq(m.decline.reason, 0x04000000);
	cr_assert(m.decline.out_of_sync);

	decode_hex(&m, DECLINE_V2);
	cr_assert_eq(m.decline.version, 2);
	cr_assert_eq(m.decline.reason, 0x03030002);
	cr_assert_eq(m.decline.os, CLC_OS_LINUX);
}

Test(clc_wire, an_accept_of_smcd_is_known_as_such)
{
	struct clc_message m;
	uint8_t bytes[CLC_BYTES_MAX];

	decode_hex(&m, ACCEPT_SMCD);
	cr_assert_eq(m.type, CLC_ACCEPT);
	cr_assert_eq(m.accept_confirm.path, CLC_PATH_SMCD);
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL,
		     "we never send SMC-D");
}

Test(clc_wire, no_message_survives_a_missing_or_an_extra_byte)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[CLC_BYTES_MAX + 1] = {0};
		size_t n = bytes_of(messages[i].hex, bytes);
		struct clc_message m;

		for (size_t k = 0; k < n; k++)
			cr_assert_eq(decode(&m, bytes, k), -EPROTO, "%s %zu",
				     messages[i].name, k);
		cr_assert_eq(decode(&m, bytes, n + 1), -EPROTO, "%s",
			     messages[i].name);
	}
}

/*
 * A length field that agrees with the bytes does not help when the counts
 * inside lead to another length. Accept and Confirm of version 2 may grow.
 */
Test(clc_wire, a_length_that_disagrees_with_the_counts_is_an_error)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		bool may_grow = messages[i].length > 100 &&
				messages[i].type != CLC_PROPOSAL;
		uint8_t bytes[CLC_BYTES_MAX + 1] = {0};
		size_t n = bytes_of(messages[i].hex, bytes);
		struct clc_message m;

		memmove(bytes + n - 3, bytes + n - 4, 4);
		bytes[n - 4] = 0;
		bytes[6]++;
		cr_assert_eq(decode(&m, bytes, n + 1), may_grow ? 0 : -EPROTO,
			     "%s longer", messages[i].name);
		memmove(bytes + n - 5, bytes + n - 3, 4);
		bytes[6] -= 2;
		cr_assert_eq(decode(&m, bytes, n - 1), -EPROTO, "%s shorter",
			     messages[i].name);
	}
}

Test(clc_wire, both_eyecatchers_are_checked)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[CLC_BYTES_MAX];
		size_t n = bytes_of(messages[i].hex, bytes);
		struct clc_message m;

		for (size_t k = 0; k < 8; k++) {
			size_t at = k < 4 ? k : n - 8 + k;

			bytes[at] ^= 1;
			cr_assert_eq(decode(&m, bytes, n), -EPROTO, "%s %zu",
				     messages[i].name, at);
			bytes[at] ^= 1;
		}
		bytes[3] = 0xc4;
		bytes[n - 1] = 0xc4;
		cr_assert_eq(decode(&m, bytes, n), 0, "SMCD is one too");
	}
}

Test(clc_wire, peeking_needs_eight_bytes_and_gives_the_length)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[CLC_BYTES_MAX];
		size_t n = bytes_of(messages[i].hex, bytes);

		for (size_t k = 0; k < 8; k++)
			cr_assert_eq(clc_peek_length(bytes, k), -EAGAIN);
		for (size_t k = 8; k <= n; k++)
			cr_assert_eq(clc_peek_length(bytes, k), (int)n);
	}
	cr_assert_eq(clc_peek_length(NULL, 0), -EAGAIN);
}

Test(clc_wire, what_cannot_become_a_message_is_told_at_its_first_byte)
{
	static const struct {
		const char *hex;
		int expected;
	} cases[] = {
	    {"47", -EPROTO},   /* G of an HTTP request */
	    {"e280", -EPROTO}, /* a quotation mark */
	    {"e2d4c3d9", -EAGAIN},
	    {"e2d4c3c4", -EAGAIN},
	    {"e2d4c3c5", -EPROTO},
	    {"e2d4c3d9 00", -EPROTO}, /* no such type */
	    {"e2d4c3d9 05", -EPROTO},
	    {"e2d4c3d9 01 03", -EPROTO},   /* 768 bytes or more */
	    {"e2d4c3d9 01 028c", -EAGAIN}, /* 652 */
	    {"e2d4c3d9 01 028c 10", 652},
	    {"e2d4c3d9 01 028d", -EPROTO}, /* 653 */
	    {"e2d4c3d9 01 0033", -EPROTO}, /* shorter than any Proposal */
	    {"e2d4c3d9 01 0034 10", 52},
	    {"e2d4c3d9 01 0034 00", -EPROTO}, /* version 0 */
	    {"e2d4c3d9 02 002f", -EPROTO},
	    {"e2d4c3d9 03 0030 11", 48},
	    {"e2d4c3d9 04 001b", -EPROTO},
	    {"e2d4c3d9 04 0000", -EPROTO},
	    {"e2d4c3d9 04 001c 10", 28},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[16];
		size_t n = hex_decode(cases[i].hex, bytes, sizeof(bytes));

		cr_assert_eq(clc_peek_length(bytes, n), cases[i].expected, "%s",
			     cases[i].hex);
	}
}

/* Offset and new value of one byte that breaks a good message. */
Test(clc_wire, contradictions_inside_a_proposal_are_errors)
{
	static const struct {
		const char *hex;
		size_t at;
		uint8_t value;
	} cases[] = {
	    {PROPOSAL_IP4, 7, 0x12},   /* version 1 without a path */
	    {PROPOSAL_IP4, 7, 0x11},   /* SMC-D without its area */
	    {PROPOSAL_IP4, 39, 1},     /* IP area one byte further */
	    {PROPOSAL_IP4, 39, 41},    /* IP area out of range */
	    {PROPOSAL_IP4, 44, 33},    /* more bits than IPv4 has */
	    {PROPOSAL_IP4, 47, 1},     /* a prefix that is not there */
	    {PROPOSAL_IP6, 47, 9},     /* more prefixes than allowed */
	    {PROPOSAL_IP6, 64, 129},   /* more bits than IPv6 has */
	    {PROPOSAL_LONG, 39, 0},    /* IP area where the anchor is */
	    {PROPOSAL_LONG, 7, 0x20},  /* version 2 that is not there */
	    {PROPOSAL_BOTH, 51, 0x1c}, /* version 2 where the IP area is */
	    {PROPOSAL_BOTH, 51, 0},    /* version 2 nowhere */
	    {PROPOSAL_BOTH, 88, 0},    /* no EID, but its bytes */
	    {PROPOSAL_BOTH, 88, 9},    /* more EIDs than allowed */
	    {PROPOSAL_BOTH, 89, 9},    /* more SMC-D devices than allowed */
	    {PROPOSAL_V2, 7, 0x26},    /* SMC-D that is not there */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[CLC_BYTES_MAX];
		size_t n = bytes_of(cases[i].hex, bytes);
		struct clc_message m;

		bytes[cases[i].at] = cases[i].value;
		cr_assert_eq(decode(&m, bytes, n), -EPROTO, "case %zu", i);
	}
}

/* Counts and places out of range, in a message as long as if they were 0. */
Test(clc_wire, what_a_proposal_must_not_say_is_not_just_left_out)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	size_t n = bytes_of(PROPOSAL_V2, bytes) - CLC_EID_BYTES;

	memcpy(bytes + n - 4, bytes, 4);
	bytes[6] = (uint8_t)n;
	bytes[80] = 0;
	cr_assert_eq(decode(&m, bytes, n), 0, "no EID at all");
	bytes[80] = 9;
	cr_assert_eq(decode(&m, bytes, n), -EPROTO);
	bytes[80] = 0;
	bytes[81] = 9;
	cr_assert_eq(decode(&m, bytes, n), -EPROTO);

	n = bytes_of(PROPOSAL_LONG, bytes) - 8;
	memcpy(bytes + n - 4, bytes, 4);
	bytes[6] = (uint8_t)n;
	bytes[39] = 0;
	cr_assert_eq(decode(&m, bytes, n), -EPROTO, "no IP area");
}

Test(clc_wire, the_decoder_of_one_type_refuses_the_others)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		int type = messages[i].type;
		bool is_pair = type == CLC_ACCEPT || type == CLC_CONFIRM;
		uint8_t bytes[CLC_BYTES_MAX];
		size_t n = bytes_of(messages[i].hex, bytes);
		struct clc_message m;

		cr_assert_eq(clc_decode_proposal(&m.proposal, bytes, n),
			     type == CLC_PROPOSAL ? 0 : -EPROTO);
		cr_assert_eq(
		    clc_decode_accept_confirm(&m.accept_confirm, bytes, n),
		    is_pair ? 0 : -EPROTO);
		cr_assert_eq(clc_decode_decline(&m.decline, bytes, n),
			     type == CLC_DECLINE ? 0 : -EPROTO);

		/* The length is right, and the type is another. */
		bytes[4] =
		    (uint8_t)(type == CLC_DECLINE ? CLC_ACCEPT : CLC_DECLINE);
		cr_assert_neq(clc_decode_proposal(&m.proposal, bytes, n), 0);
		if (type == CLC_DECLINE)
			cr_assert_neq(clc_decode_decline(&m.decline, bytes, n),
				      0);
	}
}

/* What z/OS or an s390 Linux offers: both kinds, in both versions. */
Test(clc_wire, a_proposal_with_smcd_is_read_past_smcd)
{
	uint8_t bytes[CLC_BYTES_MAX] = {0};
	struct clc_message m;
	size_t n = bytes_of(PROPOSAL_BOTH, bytes);
	size_t smcd = 48 + 2 * 10;

	bytes[7] = 0x2f;
	bytes[89] = 2;
	bytes[95] = 64;
	memmove(bytes + n - 4 + smcd, bytes + n - 4, 4);
	memset(bytes + n - 4, 0, smcd);
	bytes[6] = (uint8_t)(n + smcd);
	cr_assert_eq(decode(&m, bytes, n + smcd), 0);
	cr_assert_eq(m.proposal.path_v1, CLC_PATH_BOTH);
	cr_assert_eq(m.proposal.path_v2, CLC_PATH_BOTH);
	cr_assert_eq(memcmp(m.proposal.eid[0], EID_TEXT, CLC_EID_BYTES), 0);

	bytes[95] = 63;
	cr_assert_eq(decode(&m, bytes, n + smcd), -EPROTO, "wrong place");
	bytes[95] = 64;
	bytes[89] = 1;
	cr_assert_eq(decode(&m, bytes, n + smcd), -EPROTO, "wrong length");
}

Test(clc_wire, the_largest_proposal_fits)
{
	struct clc_proposal p = {.version = 2, .path_v2 = CLC_PATH_SMCR};
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	int n;

	p.prefix_count = CLC_PREFIXES_MAX;
	p.eid_count = CLC_EIDS_MAX;
	for (int i = 0; i < 8; i++) {
		p.prefix[i].address[0] = (uint8_t)(0x20 + i);
		p.prefix[i].bits = (uint8_t)(64 + i);
		memset(p.eid[i], 'A' + i, CLC_EID_BYTES);
	}
	n = clc_encode_proposal(&p, bytes, sizeof(bytes));
	cr_assert_eq(n, 132 + 8 * 17 + 8 * 32);
	cr_assert_eq(bytes[50] << 8 | bytes[51], 36 + 8 * 17,
		     "where version 2 begins");
	cr_assert_eq(decode(&m, bytes, (size_t)n), 0);
	cr_assert_eq(m.proposal.prefix[7].bits, 71);
	cr_assert_eq(m.proposal.eid[7][31], 'H');
}

Test(clc_wire, a_long_list_of_gids_is_cut)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	size_t n = bytes_of(CONFIRM_V2, bytes) - 16;

	bytes[156] = 20;
	for (size_t i = 0; i < 20; i++)
		memset(bytes + 160 + i * 16, (int)i + 1, 16);
	n += 20 * 16;
	memcpy(bytes + n - 4, bytes, 4);
	bytes[5] = (uint8_t)(n >> 8);
	bytes[6] = (uint8_t)n;
	cr_assert_eq(decode(&m, bytes, n), 0);
	cr_assert_eq(m.accept_confirm.gid_count, CLC_GIDS_MAX);
	cr_assert_eq(m.accept_confirm.gids[CLC_GIDS_MAX - 1][0], CLC_GIDS_MAX);
}

Test(clc_wire, encoding_never_writes_beyond_the_room)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[CLC_BYTES_MAX];
		size_t n = bytes_of(messages[i].hex, bytes);
		struct clc_message m;

		cr_assert_eq(decode(&m, bytes, n), 0);
		for (size_t room = 0; room < n; room++) {
			uint8_t *exact = malloc(room ? room : 1);

			cr_assert_eq(encode(&m, exact, room), -ENOSPC);
			free(exact);
		}
	}
}

Test(clc_wire, what_has_no_form_is_not_encoded)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;

	decode_hex(&m, PROPOSAL_IP4);
	m.proposal.version = 0;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);
	m.proposal.version = 1;
	m.proposal.path_v2 = CLC_PATH_SMCR;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);
	m.proposal.path_v2 = CLC_PATH_NONE;
	m.proposal.path_v1 = CLC_PATH_BOTH;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);
	m.proposal.path_v1 = CLC_PATH_SMCR;
	m.proposal.prefix_count = 9;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);

	decode_hex(&m, ACCEPT_V1);
	m.accept_confirm.size_code = 16;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);
	m.accept_confirm.size_code = 0;
	m.accept_confirm.version = 3;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);

	decode_hex(&m, DECLINE_SYNC);
	m.decline.version = 16;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), -EINVAL);
}

/* The largest value of each field that has less than its type could hold. */
Test(clc_wire, values_are_encoded_up_to_their_limits)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	struct clc_message back;
	struct clc_proposal *p = &m.proposal;
	struct clc_accept_confirm *a = &m.accept_confirm;
	int n;

	decode_hex(&m, PROPOSAL_BOTH);
	p->version = 15;
	p->subnet_bits = 32;
	p->release = 15;
	n = encode(&m, bytes, sizeof(bytes));
	cr_assert_eq(n, 164);
	cr_assert_eq(decode(&back, bytes, (size_t)n), 0);
	cr_assert_eq(back.proposal.version, 15);
	cr_assert_eq(back.proposal.subnet_bits, 32);
	cr_assert_eq(back.proposal.release, 15);

	decode_hex(&m, ACCEPT_V2);
	a->size_code = 15;
	a->mtu = 15;
	a->os = 15;
	a->release = 15;
	n = encode(&m, bytes, sizeof(bytes));
	cr_assert_eq(n, 160);
	cr_assert_eq(decode(&back, bytes, (size_t)n), 0);
	cr_assert_eq(back.accept_confirm.size_code, 15);
	cr_assert_eq(back.accept_confirm.mtu, 15);
	cr_assert_eq(back.accept_confirm.os, 15);
	cr_assert_eq(back.accept_confirm.release, 15);

	decode_hex(&m, DECLINE_V2);
	m.decline.version = 15;
	m.decline.os = 15;
	cr_assert_eq(encode(&m, bytes, sizeof(bytes)), 44);
	cr_assert_eq(decode(&back, bytes, 44), 0);
	cr_assert_eq(back.decline.version, 15);
	cr_assert_eq(back.decline.os, 15);
}

/* One field beyond its limit, at a time. */
Test(clc_wire, values_beyond_their_limits_are_not_encoded)
{
	static const struct clc_proposal proposals[] = {
	    {.version = 16, .path_v2 = CLC_PATH_NONE},
	    {.version = 2, .path_v1 = 4, .path_v2 = CLC_PATH_NONE},
	    {.version = 2, .path_v2 = 4},
	    {.version = 2, .path_v2 = CLC_PATH_SMCD},
	    {.version = 2, .path_v1 = CLC_PATH_SMCD},
	    {.version = 1, .path_v1 = CLC_PATH_NONE, .path_v2 = CLC_PATH_NONE},
	    {.version = 1, .path_v2 = CLC_PATH_NONE, .subnet_bits = 33},
	    {.version = 2, .release = 16},
	    {.version = 2, .eid_count = 9},
	};
	static const struct clc_accept_confirm accepts[] = {
	    {.type = CLC_DECLINE, .version = 1},
	    {.type = CLC_ACCEPT, .version = 0},
	    {.type = CLC_ACCEPT, .version = 1, .path = CLC_PATH_SMCD},
	    {.type = CLC_ACCEPT, .version = 1, .size_code = 16},
	    {.type = CLC_ACCEPT, .version = 1, .mtu = 16},
	    {.type = CLC_ACCEPT, .version = 2, .os = 16},
	    {.type = CLC_ACCEPT, .version = 2, .release = 16},
	    {.type = CLC_CONFIRM, .version = 2, .gid_count = 9},
	};
	static const struct clc_decline declines[] = {
	    {.version = 0}, {.version = 16}, {.version = 2, .os = 16}};
	uint8_t bytes[CLC_BYTES_MAX];

	for (size_t i = 0; i < sizeof(proposals) / sizeof(proposals[0]); i++)
		cr_assert_eq(
		    clc_encode_proposal(&proposals[i], bytes, sizeof(bytes)),
		    -EINVAL, "proposal %zu", i);
	for (size_t i = 0; i < sizeof(accepts) / sizeof(accepts[0]); i++)
		cr_assert_eq(clc_encode_accept_confirm(&accepts[i], bytes,
						       sizeof(bytes)),
			     -EINVAL, "accept %zu", i);
	for (size_t i = 0; i < sizeof(declines) / sizeof(declines[0]); i++)
		cr_assert_eq(
		    clc_encode_decline(&declines[i], bytes, sizeof(bytes)),
		    -EINVAL, "decline %zu", i);
}

Test(clc_wire, the_form_of_smcd_is_checked_by_its_length)
{
	static const struct {
		uint8_t flags;
		size_t length;
		int error;
	} cases[] = {
	    {0x19, 48, 0},       {0x19, 49, -EPROTO}, {0x19, 80, -EPROTO},
	    {0x21, 77, -EPROTO}, {0x21, 78, 0},       {0x29, 130, 0},
	    {0x1a, 48, -EPROTO}, /* neither kind */
	    {0x1b, 48, -EPROTO}, /* both kinds */
	    {0x31, 78, -EPROTO}, /* version 3 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[CLC_BYTES_MAX] = {0};
		size_t n = cases[i].length;
		struct clc_message m;

		bytes_of("e2d4c3c4 02 00", bytes);
		bytes[6] = (uint8_t)n;
		bytes[7] = cases[i].flags;
		memcpy(bytes + n - 4, bytes, 4);
		cr_assert_eq(decode(&m, bytes, n), cases[i].error, "case %zu",
			     i);
	}
}

Test(clc_wire, an_extension_need_not_be_direct)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	size_t n = bytes_of(ACCEPT_V2, bytes);

	bytes[104] = 0x7f;
	cr_assert_eq(decode(&m, bytes, n), 0);
	cr_assert(!m.accept_confirm.direct);
}

Test(clc_wire, a_confirm_of_version_2_to_a_known_group_has_no_extension)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	int n;

	decode_hex(&m, CONFIRM_V2);
	m.accept_confirm.first_contact = false;
	n = encode(&m, bytes, sizeof(bytes));
	cr_assert_eq(n, 108);
	cr_assert_eq(decode(&m, bytes, (size_t)n), 0);
	cr_assert(!m.accept_confirm.first_contact);
	cr_assert_eq(memcmp(m.accept_confirm.eid, EID_TEXT, 32), 0);
}

Test(clc_wire, types_have_names)
{
	cr_assert_str_eq(clc_type_name(CLC_PROPOSAL), "Proposal");
	cr_assert_str_eq(clc_type_name(CLC_DECLINE), "Decline");
	cr_assert_str_eq(clc_type_name(0), "unknown");
	cr_assert_str_eq(clc_type_name(5), "unknown");
}
