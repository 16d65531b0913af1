/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/raw_ring.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
static uint8_t text[128];
static const uint8_t number[] = {0xb8, 0xa9, 0x01, 0x00, 0x00};
static const uint8_t enter[] = {0x0f, 0x05};

static void put(size_t at, const uint8_t *bytes, size_t n)
{
	memcpy(text + at, bytes, n);
}

Test(raw_ring, the_number_and_then_the_call)
{
	put(40, number, sizeof(number));
	put(53, enter, sizeof(enter));
	cr_assert(raw_ring_in(text, sizeof(text)));
}

Test(raw_ring, neither_of_them_alone)
{
	cr_assert(!raw_ring_in(text, sizeof(text)));
	put(40, number, sizeof(number));
	cr_assert(!raw_ring_in(text, sizeof(text)));
	put(38, enter, sizeof(enter));
	cr_assert(!raw_ring_in(text, sizeof(text)));
}

Test(raw_ring, a_call_far_behind_the_number_is_another)
{
	put(10, number, sizeof(number));
	put(60, enter, sizeof(enter));
	cr_assert(!raw_ring_in(text, sizeof(text)));
	put(70, number, sizeof(number));
	put(76, enter, sizeof(enter));
	cr_assert(raw_ring_in(text, sizeof(text)));
}

Test(raw_ring, bytes_that_end_within)
{
	put(sizeof(text) - 3, number, 3);
	cr_assert(!raw_ring_in(text, sizeof(text)));
	put(sizeof(text) - 6, number, sizeof(number));
	put(sizeof(text) - 1, enter, 1);
	cr_assert(!raw_ring_in(text, sizeof(text)));
}
#endif

Test(raw_ring, these_tests_have_none)
{
	cr_assert(!raw_ring_is_likely());
}
