/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/wire.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(wire, fields_are_read_in_network_order)
{
	const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
				 0x07, 0x08, 0x09, 0x0a, 0x11, 0x12,
				 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
	struct wire_reader r;

	wire_reader_init(&r, bytes, sizeof(bytes));
	cr_assert_eq(wire_read_u8(&r), 0x01);
	cr_assert_eq(wire_read_u16(&r), 0x0203);
	cr_assert_eq(wire_read_u24(&r), 0x040506);
	cr_assert_eq(wire_read_u32(&r), 0x0708090a);
	cr_assert(!wire_read_done(&r), "eight bytes are left");
	cr_assert_eq(wire_read_u64(&r), 0x1112131415161718);
	cr_assert(wire_read_done(&r));
}

Test(wire, a_reader_beyond_the_end_gives_zeros_and_stays_bad)
{
	const uint8_t bytes[] = {0xff, 0xff, 0xff};
	uint8_t copy[4] = {1, 2, 3, 4};
	struct wire_reader r;

	wire_reader_init(&r, bytes, sizeof(bytes));
	cr_assert_eq(wire_read_u32(&r), 0);
	cr_assert_eq(wire_read_u8(&r), 0, "bad is for good");
	wire_read_bytes(&r, copy, sizeof(copy));
	cr_assert_eq(memcmp(copy, "\0\0\0\0", 4), 0);
	cr_assert(!wire_read_done(&r));

	wire_reader_init(&r, bytes, sizeof(bytes));
	wire_skip(&r, 4);
	cr_assert(r.bad);

	wire_reader_init(&r, bytes, sizeof(bytes));
	wire_skip(&r, SIZE_MAX);
	cr_assert(r.bad, "a huge skip does not wrap around");
}

Test(wire, no_bytes_are_read_well_without_an_address)
{
	struct wire_reader r;

	wire_reader_init(&r, NULL, 0);
	wire_read_bytes(&r, NULL, 0);
	wire_skip(&r, 0);
	cr_assert(wire_read_done(&r));
	wire_read_u8(&r);
	cr_assert(!wire_read_done(&r));
}

Test(wire, fields_are_written_in_network_order)
{
	const uint8_t expected[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
				    0x08, 0x09, 0x0a, 0x11, 0x12, 0x13, 0x14,
				    0x15, 0x16, 0x17, 0x18, 0x00, 0x00, 0xaa};
	uint8_t bytes[sizeof(expected)];
	struct wire_writer w;

	memset(bytes, 0x5a, sizeof(bytes));
	wire_writer_init(&w, bytes, sizeof(bytes));
	wire_write_u8(&w, 0x01);
	wire_write_u16(&w, 0x0203);
	wire_write_u24(&w, 0xff040506);
	wire_write_u32(&w, 0x0708090a);
	wire_write_u64(&w, 0x1112131415161718);
	wire_write_zeros(&w, 2);
	wire_write_bytes(&w, "\xaa", 1);
	cr_assert_eq(wire_write_length(&w), (int)sizeof(expected));
	cr_assert_eq(memcmp(bytes, expected, sizeof(expected)), 0);
}

Test(wire, a_writer_beyond_the_end_writes_nothing_and_stays_bad)
{
	uint8_t bytes[4] = {0x5a, 0x5a, 0x5a, 0x5a};
	struct wire_writer w;

	wire_writer_init(&w, bytes, 3);
	wire_write_u32(&w, 0x01020304);
	wire_write_u8(&w, 0xff);
	cr_assert_eq(wire_write_length(&w), -ENOSPC);
	cr_assert_eq(memcmp(bytes, "\x5a\x5a\x5a\x5a", 4), 0);
}
