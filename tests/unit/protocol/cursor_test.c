/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/cursor.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(cursor, distances_between_cursors)
{
	static const struct {
		struct cursor old;
		struct cursor new;
		uint32_t size;
		int64_t distance;
	} cases[] = {
	    {{0, 0}, {0, 0}, 16384, 0},
	    {{0, 0}, {0, 13}, 16384, 13},
	    {{0, 16380}, {1, 4}, 16384, 8},
	    {{0, 100}, {1, 100}, 16384, 16384}, /* full */
	    {{0xffff, 16000}, {0, 10}, 16384, 394},
	    {{0xffff, 0}, {0, 0}, 16384, 16384},
	    {{7, 16383}, {8, 0}, 16384, 1},
	    {{0, 0}, {1, 0}, 0x80000000, 0x80000000},
	    {{0, 0x7fffffff}, {1, 0x7ffffffe}, 0x80000000, 0x7fffffff},
	    /* what cannot be */
	    {{0, 0}, {0, 16384}, 16384, -EPROTO},      /* not in the ring */
	    {{0, 0}, {0, 0xffffffff}, 16384, -EPROTO}, /* not in the ring */
	    {{0, 100}, {0, 99}, 16384, -EPROTO},       /* backwards */
	    {{1, 0}, {0, 16383}, 16384, -EPROTO},      /* backwards */
	    {{0, 100}, {1, 101}, 16384, -EPROTO},      /* more than full */
	    {{0, 100}, {2, 100}, 16384, -EPROTO},      /* two turns ahead */
	    {{0, 0}, {0xffff, 0}, 16384, -EPROTO},     /* a turn behind */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(
		    cursor_distance(cases[i].old, cases[i].new, cases[i].size),
		    cases[i].distance, "case %zu", i);
}

Test(cursor, advancing_and_measuring_are_inverse)
{
	static const uint32_t sizes[] = {1, 2, 7, 16384, 65536, 0x80000000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t size = sizes[i];
		uint32_t steps[] = {0, 1, size / 3, size / 2, size - 1, size};
		struct cursor c = {0xfffe, 0};

		for (int k = 0; k < 60; k++) {
			uint32_t step = steps[k % 6];
			struct cursor next = cursor_advance(c, step, size);

			cr_assert_lt(next.count, size);
			cr_assert_eq(cursor_distance(c, next, size), step,
				     "size %u step %u", size, step);
			cr_assert_eq(cursor_is_equal(c, next), step == 0);
			cr_assert_eq(cursor_room(c, next, size), size - step);
			c = next;
		}
	}
}

Test(cursor, the_turn_counter_rolls_over)
{
	struct cursor c = {0xffff, 16383};

	c = cursor_advance(c, 1, 16384);
	cr_assert_eq(c.wrap, 0);
	cr_assert_eq(c.count, 0);
}

Test(cursor, no_room_is_seen_between_cursors_that_cannot_be)
{
	struct cursor consumer = {0, 10};
	struct cursor producer = {0, 9};

	cr_assert_eq(cursor_room(consumer, producer, 16384), 0);
}

Test(cursor, an_update_is_due_when_it_pays)
{
	static const struct {
		const char *when;
		struct cursor_window w;
		bool due;
	} cases[] = {
	    {"the writer sees much room",
	     {.size = 65536, .consumed = 7000, .known_free = 60000},
	     false},
	    {"the same with a blocked writer",
	     {.size = 65536,
	      .consumed = 7000,
	      .known_free = 60000,
	      .blocked = true},
	     true},
	    {"half of the ring is free",
	     {.size = 65536, .consumed = 7000, .known_free = 32768},
	     true},
	    {"a byte more is free",
	     {.size = 65536, .consumed = 7000, .known_free = 32769},
	     false},
	    {"a tenth exactly",
	     {.size = 65536, .consumed = 6553, .known_free = 0},
	     false},
	    {"one byte more than a tenth",
	     {.size = 65536, .consumed = 6554, .known_free = 0},
	     true},
	    {"a small ring",
	     {.size = 16384,
	      .consumed = 2304,
	      .known_free = 0,
	      .blocked = true},
	     false},
	    {"a small ring, one byte more",
	     {.size = 16384, .consumed = 2305, .known_free = 0},
	     true},
	    {"the writer asks",
	     {.size = 65536, .known_free = 65536, .requested = true},
	     true},
	    {"the urgent byte was read",
	     {.size = 65536, .known_free = 65536, .urgent = true},
	     true},
	    {"a blocked writer and nothing left to read",
	     {.size = 65536, .consumed = 1, .blocked = true, .empty = true},
	     true},
	    {"the same, but the writer knows all",
	     {.size = 65536, .consumed = 0, .blocked = true, .empty = true},
	     false},
	    {"nothing left to read, and nobody waits",
	     {.size = 65536, .consumed = 1, .known_free = 65535, .empty = true},
	     false},
	    {"the whole ring was read",
	     {.size = 16384, .consumed = 16384, .known_free = 0},
	     true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(cursor_update_is_due(&cases[i].w), cases[i].due,
			     "%s", cases[i].when);
}

/* However the reader reads, a writer with data is told of room in the end. */
Test(cursor, a_full_ring_that_is_read_empty_always_unblocks_the_writer)
{
	static const uint32_t sizes[] = {1, 2304, 16384, 65536, 524288};
	static const uint32_t reads[] = {1, 100, 2304, 2305, 6553, 1000000};

	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 6; k++) {
			struct cursor_window w = {.size = sizes[i],
						  .blocked = true};
			uint32_t left = sizes[i];
			bool told = false;

			while (left > 0 && !told) {
				uint32_t n = reads[k] < left ? reads[k] : left;

				left -= n;
				w.consumed += n;
				w.empty = left == 0;
				told = cursor_update_is_due(&w);
			}
			cr_assert(told, "size %u reads %u", sizes[i], reads[k]);
		}
}
