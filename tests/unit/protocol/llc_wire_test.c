/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/llc_wire.h"
#include "tests/unit/hex.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define Z4         "00000000"
#define Z8         Z4 Z4
#define Z16        Z8 Z8
#define MAC_OLD    "98039babcdef"
#define GID_OLD    "fe800000000000009a039bfffeabcdef"
#define MAC_NEW    "020000aabb01"
#define GID_NEW    "fe80000000000000000000fffeaabb01"
#define GID_V2     "00000000000000000000ffff0a000001"
#define GID_SECOND "00000000000000000000ffff0a000101"

/* Captured from Linux before 5.8. */
#define CONFIRM_LINK_OLD                                                       \
	"01 2c 00 03" MAC_OLD GID_OLD "000107 00 00010000 02 00" Z8
#define ADD_LINK_OLD                                                           \
	"02 2c 00 00" MAC_OLD "0000" GID_OLD "000000 00 00 000000" Z8
#define CONFIRM_RKEY_OLD                                                       \
	"06 2c 00 00 00 0000155d 0000000eef4d0000" Z8 Z16 "000000"
#define DELETE_RKEY_OLD "09 2c 00 00 01 00 0000 0000155d" Z16 Z8 Z8
#define DELETE_ALL_OLD  "04 2c 00 60 00 00000000" Z16 Z16 "000000"

/* Written by hand from the tables of the protocol. */
#define CONFIRM_LINK "01 2c 00 03" MAC_NEW GID_NEW "0000e4 01 00000101 02 00" Z8
#define CONFIRM_LINK_RESPONSE                                                  \
	"01 2c 00 83" MAC_NEW GID_NEW "0000e5 01 00000201 02 00" Z8
#define ADD_LINK "02 2c 00 00" MAC_NEW "0000" GID_NEW "0000e6 02 03 123456" Z8
#define ADD_LINK_REJECT                                                        \
	"02 2c 01 c0" MAC_NEW "0000" GID_NEW "0000e6 02 03 123456" Z8
#define ADD_LINK_MTU_0                                                         \
	"02 2c 00 00" MAC_NEW "0000" GID_NEW "000000 02 00 000000" Z8
#define DELETE_ALL "04 2c 00 60 00 00030000" Z16 Z16 "000000"
#define TEST_LINK  "07 2c 00 00 000102030405060708090a0b0c0d0e0f" Z16 Z8
#define CONFIRM_RKEY_CONT                                                      \
	"08 2c 00 b0 03 01 00000011 0000000000000012 02 00000021"              \
	"0000000000000022 03 00000031 0000000000000032"
#define DELETE_RKEY_ERRORS                                                     \
	"09 2c 00 a0 08 41 0000 00000001 00000002 00000003 00000004 00000005"  \
	"00000006 00000007 00000008" Z4

/* Captured from Linux 6.1: its version 2 has the low byte of lengths first. */
#define ADD_LINK_V2                                                            \
	"22 5800 00 525400000001 0000" GID_V2 "000012 02 03 590c6c" Z8         \
	"80 00" GID_V2 Z8 "0100 00000323 00000514 ffff888008160000"
#define ADD_LINK_V2_REJECT                                                     \
	"22 2c00 c0 525400000001 0000" GID_V2 "000012 02 03 590c6c" Z8
#define CONFIRM_LINK_V2                                                        \
	"21 2c00 03 525400000001" GID_V2 "000011 01 00000102 02 00" Z8
#define DELETE_LINK_V2_RESPONSE "24 2c00 a0 02 00100000" Z16 Z16 "000000"
#define DELETE_RKEY_V2_RESPONSE "29 2c00 80 01 00 0000" Z16 Z16 Z4
#define CONFIRM_RKEY_TWO                                                       \
	"06 2c 00 00 01 000004cd ffff888008470000 01 00000457"                 \
	"ffff888008470000" Z8 Z4 "0000"
#define ADD_LINK_CONT_TWO                                                      \
	"03 2c 00 80 02 02 0000 00000001 00000002 0000000000000003"            \
	"00000004 00000005 0000000000000006" Z4
#define ADD_LINK_CONT                                                          \
	"03 2c 00 00 02 01 0000 000003c7 00000366 ffff888008450000" Z16 Z4

/* This has it as the standard: high byte first. */
#define ADD_LINK_V2_HIGH                                                       \
	"22 0058 00 525400000001 0000" GID_V2 "000012 02 03 590c6c" Z8         \
	"80 00" GID_V2 Z8 "0001 00000323 00000514 ffff888008160000"
#define ADD_LINK_V2_REJECT_REASON                                              \
	"22 002c c1 525400000001 0000" GID_V2 "000012 02 03 590c6c" Z8
#define REQUEST_ADD_LINK        "25 003c 00" Z16 Z4 "02 000000" GID_V2 GID_SECOND
#define REQUEST_ADD_LINK_REJECT "25 002c c2" Z16 Z4 "00 000000" Z16
#define DELETE_RKEY_V2          "29 0030 00 0a 00 0000" Z16 Z16 "0000000900000063"
#define DELETE_RKEY_V2_INVALID                                                 \
	"29 002c a0 0a 02 0000 00000009 00000063" Z16 Z8 Z4

static const struct {
	const char *hex;
	uint8_t type;
	uint8_t version;
	bool response;
	size_t length;
} messages[] = {
    {CONFIRM_LINK_OLD, LLC_CONFIRM_LINK, 1, false, 44},
    {ADD_LINK_OLD, LLC_ADD_LINK, 1, false, 44},
    {CONFIRM_RKEY_OLD, LLC_CONFIRM_RKEY, 1, false, 44},
    {DELETE_RKEY_OLD, LLC_DELETE_RKEY, 1, false, 44},
    {DELETE_ALL_OLD, LLC_DELETE_LINK, 1, false, 44},
    {CONFIRM_LINK, LLC_CONFIRM_LINK, 1, false, 44},
    {CONFIRM_LINK_RESPONSE, LLC_CONFIRM_LINK, 1, true, 44},
    {ADD_LINK, LLC_ADD_LINK, 1, false, 44},
    {ADD_LINK_REJECT, LLC_ADD_LINK, 1, true, 44},
    {ADD_LINK_MTU_0, LLC_ADD_LINK, 1, false, 44},
    {DELETE_ALL, LLC_DELETE_LINK, 1, false, 44},
    {TEST_LINK, LLC_TEST_LINK, 1, false, 44},
    {CONFIRM_RKEY_CONT, LLC_CONFIRM_RKEY_CONT, 1, true, 44},
    {DELETE_RKEY_ERRORS, LLC_DELETE_RKEY, 1, true, 44},
    {ADD_LINK_V2, LLC_ADD_LINK, 2, false, 88},
    {ADD_LINK_V2_REJECT, LLC_ADD_LINK, 2, true, 44},
    {CONFIRM_LINK_V2, LLC_CONFIRM_LINK, 2, false, 44},
    {DELETE_LINK_V2_RESPONSE, LLC_DELETE_LINK, 2, true, 44},
    {DELETE_RKEY_V2_RESPONSE, LLC_DELETE_RKEY, 2, true, 44},
    {CONFIRM_RKEY_TWO, LLC_CONFIRM_RKEY, 1, false, 44},
    {ADD_LINK_CONT, LLC_ADD_LINK_CONT, 1, false, 44},
    {ADD_LINK_CONT_TWO, LLC_ADD_LINK_CONT, 1, true, 44},
    {ADD_LINK_V2_HIGH, LLC_ADD_LINK, 2, false, 88},
    {ADD_LINK_V2_REJECT_REASON, LLC_ADD_LINK, 2, true, 44},
    {REQUEST_ADD_LINK, LLC_REQUEST_ADD_LINK, 2, false, 60},
    {REQUEST_ADD_LINK_REJECT, LLC_REQUEST_ADD_LINK, 2, true, 44},
    {DELETE_RKEY_V2, LLC_DELETE_RKEY, 2, false, 48},
    {DELETE_RKEY_V2_INVALID, LLC_DELETE_RKEY, 2, true, 44},
};

#define MESSAGE_COUNT (sizeof(messages) / sizeof(messages[0]))

/* From a block of exactly that size, so that ASan sees over-reads. */
static int decode(struct llc_message *m, const uint8_t *bytes, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);
	int error;

	memcpy(exact, bytes, n);
	memset(m, 0xa5, sizeof(*m));
	error = llc_decode(m, exact, n);
	free(exact);
	return error;
}

static void decode_hex(struct llc_message *m, const char *hex)
{
	uint8_t bytes[LLC_BYTES_MAX];
	size_t n = hex_decode(hex, bytes, sizeof(bytes));

	cr_assert_eq(decode(m, bytes, n), 0, "%s", hex);
}

static void bytes_are(const uint8_t *bytes, const char *hex, size_t n)
{
	uint8_t expected[16];

	cr_assert_eq(hex_decode(hex, expected, sizeof(expected)), n);
	cr_assert_eq(memcmp(bytes, expected, n), 0, "%s", hex);
}

Test(llc_wire, every_vector_survives_decoding_and_encoding)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[LLC_BYTES_MAX];
		uint8_t again[LLC_BYTES_MAX];
		size_t n = hex_decode(messages[i].hex, bytes, sizeof(bytes));
		struct llc_message m;

		cr_assert_eq(n, messages[i].length, "%s", messages[i].hex);
		cr_assert_eq(decode(&m, bytes, n), 0, "%s", messages[i].hex);
		cr_assert_eq(m.type, messages[i].type);
		cr_assert_eq(m.version, messages[i].version);
		cr_assert_eq(m.response, messages[i].response);
		memset(again, 0x5a, sizeof(again));
		cr_assert_eq(llc_encode(&m, again, sizeof(again)), (int)n);
		cr_assert_eq(memcmp(bytes, again, n), 0, "%s", messages[i].hex);
	}
}

Test(llc_wire, confirm_link)
{
	const struct llc_confirm_link *c;
	struct llc_message m;

	c = &m.confirm_link;
	decode_hex(&m, CONFIRM_LINK_OLD);
	cr_assert(c->no_eyecatcher);
	bytes_are(c->mac, MAC_OLD, 6);
	bytes_are(c->gid, GID_OLD, 16);
	cr_assert_eq(c->qpn, 0x107);
	cr_assert_eq(c->link, 0);
	cr_assert_eq(c->uid, 0x00010000);
	cr_assert_eq(c->links_max, 2);

	decode_hex(&m, CONFIRM_LINK_V2);
	cr_assert(m.low_byte_first);
	bytes_are(c->gid, GID_V2, 16);
	cr_assert_eq(c->qpn, 0x11);
	cr_assert_eq(c->link, 1);
	cr_assert_eq(c->uid, 0x00000102);
}

Test(llc_wire, one_bit_announces_that_there_are_no_eyecatchers)
{
	uint8_t bytes[LLC_BYTES];
	struct llc_message m;

	hex_decode(CONFIRM_LINK, bytes, sizeof(bytes));
	for (uint8_t bits = 0; bits < 4; bits++) {
		bytes[3] = bits;
		cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
		cr_assert_eq(m.confirm_link.no_eyecatcher, bits != 0);
	}
}

Test(llc_wire, add_link)
{
	const struct llc_add_link *a;
	struct llc_message m;

	a = &m.add_link;
	decode_hex(&m, ADD_LINK);
	cr_assert(!a->reject);
	bytes_are(a->mac, MAC_NEW, 6);
	bytes_are(a->gid, GID_NEW, 16);
	cr_assert_eq(a->qpn, 0xe6);
	cr_assert_eq(a->link, 2);
	cr_assert_eq(a->mtu, 3);
	cr_assert_eq(a->psn, 0x123456);
	cr_assert(!a->has_keys);

	decode_hex(&m, ADD_LINK_REJECT);
	cr_assert(a->reject);
	cr_assert_eq(a->reason, LLC_REJECT_NO_PATH);
}

Test(llc_wire, add_link_of_version_2_in_both_byte_orders)
{
	const char *const texts[] = {ADD_LINK_V2, ADD_LINK_V2_HIGH};

	for (int i = 0; i < 2; i++) {
		const struct llc_add_link *a;
		struct llc_message m;

		a = &m.add_link;
		decode_hex(&m, texts[i]);
		cr_assert_eq(m.low_byte_first, i == 0);
		cr_assert(a->has_keys);
		cr_assert(a->direct);
		bytes_are(a->target_gid, GID_V2, 16);
		cr_assert_eq(a->pair_count, 1);
		cr_assert_eq(a->pair[0].rkey, 0x323);
		cr_assert_eq(a->pair[0].new_rkey, 0x514);
		cr_assert_eq(a->pair[0].new_address, 0xffff888008160000);
	}
}

Test(llc_wire, a_reject_of_version_2_has_its_reason_in_the_flags)
{
	struct llc_message m;

	decode_hex(&m, ADD_LINK_V2_REJECT);
	cr_assert(m.add_link.reject);
	cr_assert_eq(m.add_link.reason, 0, "Linux loses it");
	decode_hex(&m, ADD_LINK_V2_REJECT_REASON);
	cr_assert_eq(m.add_link.reason, 1);
	decode_hex(&m, REQUEST_ADD_LINK_REJECT);
	cr_assert(m.request_add_link.reject);
	cr_assert_eq(m.request_add_link.reason, 2);
}

Test(llc_wire, add_link_with_the_most_keys_there_can_be)
{
	static uint8_t bytes[LLC_BYTES_MAX];
	static struct llc_message m = {.type = LLC_ADD_LINK, .version = 2};
	static struct llc_message back;

	m.add_link.has_keys = true;
	m.add_link.pair_count = LLC_KEYS_MAX;
	for (uint32_t i = 0; i < LLC_KEYS_MAX; i++)
		m.add_link.pair[i].new_rkey = i * 3;
	for (int order = 0; order < 2; order++) {
		m.low_byte_first = order;
		cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)),
			     LLC_BYTES_MAX);
		cr_assert_eq(decode(&back, bytes, sizeof(bytes)), 0);
		cr_assert_eq(back.low_byte_first, order);
		cr_assert_eq(back.add_link.pair[254].new_rkey, 254 * 3);
		cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes) - 1), -ENOSPC);
	}
}

Test(llc_wire, add_link_whose_key_count_disagrees_with_its_length)
{
	uint8_t bytes[LLC_BYTES_MAX];
	size_t n = hex_decode(ADD_LINK_V2_HIGH, bytes, sizeof(bytes));
	struct llc_message m;

	bytes[71] = 2;
	cr_assert_eq(decode(&m, bytes, n), -EPROTO, "two keys in 88 bytes");
	bytes[70] = 1;
	bytes[71] = 0;
	cr_assert_eq(decode(&m, bytes, n), -EPROTO, "256 keys");
	hex_decode(ADD_LINK_V2_HIGH, bytes, sizeof(bytes));
	bytes[2] = 71;
	cr_assert_eq(decode(&m, bytes, 71), -EPROTO, "cut before the count");
}

Test(llc_wire, add_link_of_version_2_may_come_without_keys)
{
	uint8_t bytes[LLC_BYTES];
	struct llc_message m;

	hex_decode(ADD_LINK_V2_HIGH, bytes, sizeof(bytes));
	bytes[2] = LLC_BYTES;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.add_link.has_keys);
	cr_assert_eq(m.add_link.qpn, 0x12);
}

Test(llc_wire, add_link_continuation)
{
	struct llc_message m;

	decode_hex(&m, ADD_LINK_CONT);
	cr_assert_eq(m.add_link_cont.link, 2);
	cr_assert_eq(m.add_link_cont.pairs_left, 1);
	cr_assert_eq(m.add_link_cont.pair[0].rkey, 0x3c7);
	cr_assert_eq(m.add_link_cont.pair[0].new_rkey, 0x366);
	cr_assert_eq(m.add_link_cont.pair[0].new_address, 0xffff888008450000);
	cr_assert_eq(m.add_link_cont.pair[1].rkey, 0);
}

Test(llc_wire, delete_link)
{
	struct llc_message m;

	decode_hex(&m, DELETE_ALL);
	cr_assert(m.delete_link.all);
	cr_assert(m.delete_link.orderly);
	cr_assert_eq(m.delete_link.link, 0);
	cr_assert_eq(m.delete_link.reason, LLC_DELETE_PROGRAM);
	decode_hex(&m, DELETE_LINK_V2_RESPONSE);
	cr_assert(!m.delete_link.all);
	cr_assert(m.delete_link.orderly);
	cr_assert_eq(m.delete_link.link, 2);
	cr_assert_eq(m.delete_link.reason, LLC_DELETE_UNKNOWN_LINK);
}

Test(llc_wire, both_pairs_of_a_continuation)
{
	struct llc_message m;

	decode_hex(&m, ADD_LINK_CONT_TWO);
	cr_assert_eq(m.add_link_cont.pairs_left, 2);
	cr_assert_eq(m.add_link_cont.pair[1].rkey, 4);
	cr_assert_eq(m.add_link_cont.pair[1].new_rkey, 5);
	cr_assert_eq(m.add_link_cont.pair[1].new_address, 6);
}

/* Bits of other types and directions mean nothing. */
Test(llc_wire, flags_mean_what_they_mean_for_their_type_only)
{
	uint8_t bytes[LLC_BYTES_MAX];
	struct llc_message m;

	hex_decode(DELETE_ALL, bytes, sizeof(bytes));
	bytes[3] = 0x1f;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.response && !m.delete_link.all && !m.delete_link.orderly);

	hex_decode(CONFIRM_RKEY_OLD, bytes, sizeof(bytes));
	bytes[3] = 0xcf;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.confirm_rkey.negative && !m.confirm_rkey.retry);

	hex_decode(CONFIRM_RKEY_CONT, bytes, sizeof(bytes));
	bytes[3] = 0xcf;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.confirm_rkey_cont.negative && !m.confirm_rkey_cont.retry);

	hex_decode(DELETE_RKEY_OLD, bytes, sizeof(bytes));
	bytes[3] = 0xdf;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.delete_rkey.negative);

	hex_decode(ADD_LINK, bytes, sizeof(bytes));
	bytes[3] = 0x80;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(m.response && !m.add_link.reject);
	bytes[3] = 0x40;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.add_link.reject, "a request cannot reject");

	hex_decode(REQUEST_ADD_LINK_REJECT, bytes, sizeof(bytes));
	bytes[3] = 0x80;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), 0);
	cr_assert(!m.request_add_link.reject);

	hex_decode(ADD_LINK_V2_HIGH, bytes, sizeof(bytes));
	bytes[44] = 0x7f;
	cr_assert_eq(decode(&m, bytes, 88), 0);
	cr_assert(!m.add_link.direct);
}

Test(llc_wire, what_arrives_may_be_longer_than_the_message)
{
	static const struct {
		const char *hex;
		bool low_byte_first;
	} cases[] = {
	    {CONFIRM_LINK_V2, true},
	    {ADD_LINK_V2_REJECT_REASON, false},
	    {ADD_LINK, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[LLC_BYTES_MAX] = {0};
		struct llc_message m;

		hex_decode(cases[i].hex, bytes, LLC_BYTES);
		for (size_t n = LLC_BYTES; n <= 100; n += 56) {
			cr_assert_eq(decode(&m, bytes, n), 0, "case %zu", i);
			cr_assert_eq(m.low_byte_first, cases[i].low_byte_first);
			cr_assert(m.type != LLC_ADD_LINK ||
				  !m.add_link.has_keys);
		}
	}
}

/* The largest value of each field that has less than its type could hold. */
Test(llc_wire, values_are_encoded_up_to_their_limits)
{
	uint8_t bytes[LLC_BYTES_MAX];
	struct llc_message m;
	struct llc_message back;

	decode_hex(&m, ADD_LINK_REJECT);
	m.add_link.mtu = 15;
	m.add_link.reason = 15;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), LLC_BYTES);
	cr_assert_eq(decode(&back, bytes, LLC_BYTES), 0);
	cr_assert_eq(back.add_link.mtu, 15);
	cr_assert_eq(back.add_link.reason, 15);
	m.add_link.reason = 16;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), -EINVAL);

	decode_hex(&m, REQUEST_ADD_LINK_REJECT);
	m.request_add_link.reason = 15;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), LLC_BYTES);
	cr_assert_eq(decode(&back, bytes, LLC_BYTES), 0);
	cr_assert_eq(back.request_add_link.reason, 15);
	m.request_add_link.reason = 16;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), -EINVAL);
	m.request_add_link.reason = 15;
	m.response = false;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), -EINVAL);
}

Test(llc_wire, request_add_link)
{
	struct llc_message m;

	decode_hex(&m, REQUEST_ADD_LINK);
	cr_assert_eq(m.request_add_link.gid_count, 2);
	bytes_are(m.request_add_link.gid[0], GID_V2, 16);
	bytes_are(m.request_add_link.gid[1], GID_SECOND, 16);
}

Test(llc_wire, a_request_with_many_gids_is_cut)
{
	uint8_t bytes[28 + 20 * 16] = {0x25, 0x01, 0x5c, 0x00};
	struct llc_message m;

	bytes[24] = 20;
	memset(bytes + 28 + 7 * 16, 7, 16);
	cr_assert_eq(decode(&m, bytes, sizeof(bytes)), 0);
	cr_assert_eq(m.request_add_link.gid_count, LLC_GIDS_MAX);
	cr_assert_eq(m.request_add_link.gid[7][15], 7);
	bytes[24] = 21;
	cr_assert_eq(decode(&m, bytes, sizeof(bytes)), -EPROTO);
}

Test(llc_wire, confirm_rkey)
{
	struct llc_message m;

	decode_hex(&m, CONFIRM_RKEY_OLD);
	cr_assert_eq(m.confirm_rkey.rkey, 0x155d);
	cr_assert_eq(m.confirm_rkey.address, 0xeef4d0000);
	cr_assert_eq(m.confirm_rkey.other_count, 0);
	cr_assert(!m.confirm_rkey.negative);

	decode_hex(&m, CONFIRM_RKEY_TWO);
	cr_assert_eq(m.confirm_rkey.rkey, 0x4cd);
	cr_assert_eq(m.confirm_rkey.other_count, 1);
	cr_assert_eq(m.confirm_rkey.other[0].link, 1);
	cr_assert_eq(m.confirm_rkey.other[0].rkey, 0x457);
	cr_assert_eq(m.confirm_rkey.other[0].address, 0xffff888008470000);

	decode_hex(&m, CONFIRM_RKEY_CONT);
	cr_assert(m.confirm_rkey_cont.negative);
	cr_assert(m.confirm_rkey_cont.retry);
	cr_assert_eq(m.confirm_rkey_cont.other_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct llc_key *key = &m.confirm_rkey_cont.other[i];

		cr_assert_eq(key->link, i + 1);
		cr_assert_eq(key->rkey, 0x10 * i + 0x11);
		cr_assert_eq(key->address, 0x10 * i + 0x12);
	}
}

Test(llc_wire, delete_rkey)
{
	struct llc_message m;

	decode_hex(&m, DELETE_RKEY_OLD);
	cr_assert_eq(m.delete_rkey.count, 1);
	cr_assert_eq(m.delete_rkey.rkey[0], 0x155d);

	decode_hex(&m, DELETE_RKEY_ERRORS);
	cr_assert(m.delete_rkey.negative);
	cr_assert_eq(m.delete_rkey.count, 8);
	cr_assert_eq(m.delete_rkey.error_mask, 0x41);
	cr_assert_eq(m.delete_rkey.rkey[7], 8);

	decode_hex(&m, DELETE_RKEY_V2);
	cr_assert_eq(m.delete_rkey.count, 10);
	cr_assert_eq(m.delete_rkey.rkey[8], 9);
	cr_assert_eq(m.delete_rkey.rkey[9], 99);

	decode_hex(&m, DELETE_RKEY_V2_INVALID);
	cr_assert_eq(m.delete_rkey.invalid_count, 2);
	cr_assert_eq(m.delete_rkey.rkey[0], 9);
	cr_assert_eq(m.delete_rkey.rkey[1], 99);
}

Test(llc_wire, more_keys_than_the_message_can_hold_are_refused)
{
	uint8_t bytes[LLC_BYTES_MAX];
	struct llc_message m;
	size_t n;

	hex_decode(DELETE_RKEY_OLD, bytes, sizeof(bytes));
	bytes[4] = 9;
	cr_assert_eq(decode(&m, bytes, LLC_BYTES), -EPROTO);
	n = hex_decode(DELETE_RKEY_V2, bytes, sizeof(bytes));
	bytes[4] = 11;
	cr_assert_eq(decode(&m, bytes, n), -EPROTO);
}

Test(llc_wire, the_data_of_test_link_comes_back)
{
	struct llc_message m;
	uint8_t bytes[LLC_BYTES];
	uint8_t expected[LLC_BYTES];

	decode_hex(&m, TEST_LINK);
	cr_assert_eq(m.test_link.data[15], 15);
	m.response = true;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), LLC_BYTES);
	hex_decode(TEST_LINK, expected, sizeof(expected));
	expected[3] = 0x80;
	cr_assert_eq(memcmp(bytes, expected, LLC_BYTES), 0);
}

/* What a client with one device answers. */
Test(llc_wire, a_reject_is_the_request_with_three_changes)
{
	struct llc_message m;
	uint8_t bytes[LLC_BYTES];
	uint8_t expected[LLC_BYTES];

	decode_hex(&m, ADD_LINK);
	m.response = true;
	m.add_link.reject = true;
	m.add_link.reason = LLC_REJECT_NO_PATH;
	cr_assert_eq(llc_encode(&m, bytes, sizeof(bytes)), LLC_BYTES);
	hex_decode(ADD_LINK_REJECT, expected, sizeof(expected));
	cr_assert_eq(memcmp(bytes, expected, LLC_BYTES), 0);
}

Test(llc_wire, types_not_known_are_told_apart_from_broken_messages)
{
	static const struct {
		uint8_t first;
		int error;
	} cases[] = {
	    {0x00, -ENOMSG}, {0x0a, -ENOMSG}, {0x0f, -ENOMSG},
	    {0x20, -ENOMSG}, {0x23, -ENOMSG}, /* continuation, not in version 2
					       */
	    {0x28, -ENOMSG}, {0x05, -ENOMSG}, /* request, not in version 1 */
	    {0x11, -ENOMSG}, {0x31, -ENOMSG}, /* versions that do not exist */
	    {0x80, -ENOMSG}, {0x8a, -ENOMSG}, /* extras of z/OS */
	    {0xfe, -ENOMSG},                  /* CDC */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[LLC_BYTES] = {0};
		struct llc_message m;

		bytes[0] = cases[i].first;
		bytes[1] = LLC_BYTES;
		cr_assert_eq(decode(&m, bytes, LLC_BYTES), cases[i].error,
			     "%02x", cases[i].first);
	}
}

Test(llc_wire, lengths_that_cannot_be_are_refused)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		uint8_t bytes[LLC_BYTES_MAX];
		size_t n = hex_decode(messages[i].hex, bytes, sizeof(bytes));
		struct llc_message m;

		for (size_t k = 0; k < LLC_BYTES; k++)
			cr_assert_eq(decode(&m, bytes, k), -EPROTO);
		bytes[1] = 0x0b;
		bytes[2] = 0x0b;
		cr_assert_eq(decode(&m, bytes, n), -EPROTO, "%s",
			     messages[i].hex);
	}
}

Test(llc_wire, what_has_no_form_is_not_encoded)
{
	static const struct llc_message cases[] = {
	    {.type = LLC_TEST_LINK, .version = 0},
	    {.type = LLC_TEST_LINK, .version = 3},
	    {.type = 0, .version = 1},
	    {.type = 10, .version = 1},
	    {.type = LLC_ADD_LINK_CONT, .version = 2},
	    {.type = LLC_REQUEST_ADD_LINK, .version = 1},
	    {.type = LLC_CONFIRM_RKEY_CONT, .version = 2},
	    {.type = LLC_ADD_LINK, .version = 1, .add_link.has_keys = true},
	    {.type = LLC_ADD_LINK, .version = 1, .add_link.reject = true},
	    {.type = LLC_ADD_LINK, .version = 1, .add_link.mtu = 16},
	    {.type = LLC_DELETE_RKEY, .version = 1, .delete_rkey.count = 9},
	    {.type = LLC_REQUEST_ADD_LINK,
	     .version = 2,
	     .request_add_link.gid_count = 9},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static uint8_t bytes[LLC_BYTES_MAX];

		cr_assert_eq(llc_encode(&cases[i], bytes, sizeof(bytes)),
			     -EINVAL, "case %zu", i);
	}
}

Test(llc_wire, encoding_never_writes_beyond_the_room)
{
	for (size_t i = 0; i < MESSAGE_COUNT; i++) {
		struct llc_message m;

		decode_hex(&m, messages[i].hex);
		for (size_t room = 0; room < messages[i].length; room++) {
			uint8_t *exact = malloc(room ? room : 1);

			cr_assert_eq(llc_encode(&m, exact, room), -ENOSPC);
			free(exact);
		}
	}
}

Test(llc_wire, types_have_names)
{
	cr_assert_str_eq(llc_type_name(LLC_CONFIRM_LINK), "Confirm Link");
	cr_assert_str_eq(llc_type_name(LLC_DELETE_RKEY), "Delete Rkey");
	for (int i = LLC_CONFIRM_LINK; i <= LLC_DELETE_RKEY; i++)
		cr_assert_str_neq(llc_type_name(i), "unknown");
	cr_assert_str_eq(llc_type_name(0), "unknown");
	cr_assert_str_eq(llc_type_name(10), "unknown");
}
