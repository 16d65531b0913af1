/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/cdc_wire.h"
#include "tests/unit/hex.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESERVED "000000000000000000000000000000000000"

static const struct {
	const char *name;
	const char *hex;
	struct cdc_message m;
} cases[] = {
    {"captured: 13 bytes written",
     "fe 2c 0001 00000003 0000 0000 0000000d 0000 0000 00000000 00 00" RESERVED,
     {.sequence = 1, .token = 3, .producer = {0, 13}}},
    {"by hand: close with a blocked writer",
     "fe 2c 0009 00000003 0000 0001 00000020 0000 0000 00000400 80 40" RESERVED,
     {.sequence = 9,
      .token = 3,
      .producer = {1, 32},
      .consumer = {0, 1024},
      .producer_flags = CDC_WRITE_BLOCKED,
      .state_flags = CDC_CLOSED}},
    {"captured: urgent byte",
     "fe 2c 0002 00000001 0000 0000 00000064 0000 0000 00000000 60 00" RESERVED,
     {.sequence = 2,
      .token = 1,
      .producer = {0, 100},
      .producer_flags = CDC_URGENT_PENDING | CDC_URGENT_PRESENT}},
    {"by hand: all flags, large values",
     "fe 2c ffff fedcba98 0000 ffff 1fffffff 0000 8001 0fffffff f8 e0" RESERVED,
     {.sequence = 0xffff,
      .token = 0xfedcba98,
      .producer = {0xffff, 0x1fffffff},
      .consumer = {0x8001, 0x0fffffff},
      .producer_flags = CDC_WRITE_BLOCKED | CDC_URGENT_PENDING |
			CDC_URGENT_PRESENT | CDC_UPDATE_REQUESTED |
			CDC_FAILOVER,
      .state_flags = CDC_SENDING_DONE | CDC_CLOSED | CDC_ABORTED}},
};

#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

Test(cdc_wire, messages_are_encoded_byte_for_byte)
{
	for (size_t i = 0; i < CASE_COUNT; i++) {
		uint8_t expected[CDC_BYTES];
		uint8_t bytes[CDC_BYTES];

		cr_assert_eq(hex_decode(cases[i].hex, expected, CDC_BYTES),
			     CDC_BYTES);
		memset(bytes, 0x5a, sizeof(bytes));
		cdc_encode(&cases[i].m, bytes);
		cr_assert_eq(memcmp(bytes, expected, CDC_BYTES), 0, "%s",
			     cases[i].name);
	}
}

Test(cdc_wire, messages_are_decoded_field_for_field)
{
	for (size_t i = 0; i < CASE_COUNT; i++) {
		const struct cdc_message *e = &cases[i].m;
		uint8_t bytes[CDC_BYTES + 4] = {0};
		struct cdc_message m;

		hex_decode(cases[i].hex, bytes, CDC_BYTES);
		cr_assert_eq(cdc_decode(&m, bytes, CDC_BYTES), 0);
		cr_assert_eq(m.sequence, e->sequence, "%s", cases[i].name);
		cr_assert_eq(m.token, e->token);
		cr_assert(cursor_is_equal(m.producer, e->producer));
		cr_assert(cursor_is_equal(m.consumer, e->consumer));
		cr_assert_eq(m.producer_flags, e->producer_flags);
		cr_assert_eq(m.state_flags, e->state_flags);
		cr_assert_eq(cdc_decode(&m, bytes, sizeof(bytes)), 0,
			     "a longer receive buffer does no harm");
	}
}

Test(cdc_wire, what_is_no_message_is_refused)
{
	uint8_t bytes[CDC_BYTES];
	struct cdc_message m;

	hex_decode(cases[0].hex, bytes, CDC_BYTES);
	for (size_t n = 0; n < CDC_BYTES; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, bytes, n);
		cr_assert_eq(cdc_decode(&m, exact, n), -EPROTO);
		free(exact);
	}
	bytes[0] = 0x07;
	cr_assert_eq(cdc_decode(&m, bytes, CDC_BYTES), -EPROTO, "LLC");
	bytes[0] = CDC_TYPE;
	bytes[1] = 43;
	cr_assert_eq(cdc_decode(&m, bytes, CDC_BYTES), -EPROTO, "length");
}

Test(cdc_wire, sequence_numbers_are_compared_around_the_corner)
{
	cr_assert(!cdc_is_older(1, 0));
	cr_assert(!cdc_is_older(1, 1), "equal is accepted");
	cr_assert(cdc_is_older(1, 2));
	cr_assert(!cdc_is_older(0, 0xffff));
	cr_assert(cdc_is_older(0xffff, 0));
	cr_assert(!cdc_is_older(0x7fff, 0));
	cr_assert(cdc_is_older(0x8001, 0));
}
