/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/unit/ends.h"

#include "smc_r/socket/fastpath.h"

#define SIZE  16384u
#define PLACE 192u /* where short messages of side 1 begin */

static struct ends *e;
static uint64_t written[2];
static uint64_t read_by[2]; /* [side that wrote] */

static void begin(void)
{
	e = ends_make(SIZE, ENDS_HIGH);
	e->c[1].out.start = PLACE;
	e->c[0].in.start = PLACE;
	memset(written, 0, sizeof(written));
	memset(read_by, 0, sizeof(read_by));
}

TestSuite(rewind, .init = begin);

static void put(int side, size_t n)
{
	uint8_t bytes[SIZE];

	ends_fill(bytes, written[side], n);
	cr_assert_eq(ends_put(e, side, bytes, n), n);
	written[side] += n;
}

/* The byte that the last n begin with. */
static void cr_assert_at(int side, size_t n, size_t offset)
{
	cr_assert_eq(e->ring[side][offset], ends_byte(written[side] - n),
		     "side %d, %zu bytes, not at %zu", side, n, offset);
}

static void take(int side, size_t n)
{
	uint8_t bytes[SIZE];

	cr_assert_eq(ends_take(e, side, bytes, n), n);
	cr_assert(ends_right(bytes, read_by[!side], n));
	read_by[!side] += n;
}

/* A word from `side`, which tells what it has read. */
static void answer(int side)
{
	put(side, 1);
	take(!side, 1);
}

/* Each answer finds all read, and says so. */
Test(rewind, a_conversation_stays_where_it_begins)
{
	put(0, 1);
	take(1, 1);
	for (size_t i = 0; i < 100; i++)
		for (int side = 1; side >= 0; side--) {
			size_t n = 1 + (i * 37 + (size_t)side) % RMB_SHORT;

			put(side, n);
			if (i > 0)
				cr_assert_at(side, n, side ? PLACE : 0);
			take(!side, n);
		}
}

Test(rewind, what_is_long_begins_with_the_ring)
{
	put(1, 100);
	take(0, 100);
	answer(0);
	put(1, RMB_SHORT + 1);
	cr_assert_at(1, RMB_SHORT + 1, 0);
	take(0, RMB_SHORT + 1);
	answer(0);
	put(1, RMB_SHORT);
	cr_assert_at(1, RMB_SHORT, PLACE);
}

/* The writer learns it by the cursors that come with the answer, and no other
 * word. */
Test(rewind, who_has_not_read_all_is_not_written_over)
{
	for (int i = 0; i < 50; i++) {
		put(1, 60);
		take(0, i % 2 ? 70 : 50);
		answer(0);
	}
	cr_assert_eq(read_by[1], written[1]);
}

Test(rewind, all_of_the_ring_is_there_from_any_place)
{
	uint8_t byte = 0;

	put(1, 3);
	take(0, 3);
	answer(0);
	put(1, 5);
	cr_assert_at(1, 5, PLACE);
	put(1, SIZE - 5);
	cr_assert_eq(stream_free(&e->c[1]), 0);
	cr_assert_eq(ends_put(e, 1, &byte, 1), 0);
	take(0, SIZE);
}

/* A peer may say what it likes of what it has heard: what it gets is at most
 * its own stream's bytes, in another order. */
Test(rewind, a_lie_about_what_was_heard_moves_nothing_else)
{
	uint8_t bytes[SIZE];

	put(1, 1000);
	atomic_store(&e->c[1].in_producer->heard, written[1] + 1);
	put(1, 1000);
	atomic_store(&e->c[1].in_producer->heard, UINT64_MAX);
	put(1, 1000);
	atomic_store(&e->c[1].in_producer->heard, written[1]);
	put(1, SIZE / 2);
	cr_assert_leq(stream_free(&e->c[1]), SIZE);
	cr_assert_geq(ends_take(e, 0, bytes, SIZE), 0);
}

/* Room that a peek still looks at is not given away by an answer. */
Test(rewind, what_was_only_looked_at_stays)
{
	uint8_t bytes[64];

	put(1, 64);
	cr_assert_eq(ends_peek(e, 0, bytes, 64, 0), 64);
	answer(0);
	put(1, 64);
	take(0, 128);
}
