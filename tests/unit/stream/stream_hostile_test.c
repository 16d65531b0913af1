/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream_hostile: a peer that writes into the shared control block whatever it
 * likes. The rings lie between pages that nobody may touch.
 */
#include "tests/unit/ends.h"

#include <pthread.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

#define SIZE 64u

/* ---- the writer's cursor, as its reader sees it ---- */

static void assert_reset(uint64_t start, uint64_t used, uint64_t cursor)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	_Atomic uint64_t *counted =
	    &segment_counters->fallbacks[reason_index(REASON_PEER_MEMORY)];
	uint64_t before = atomic_load(counted);
	uint8_t bytes[2 * SIZE];

	ends_move(e, 0, start);
	ends_fill(bytes, 0, used);
	cr_assert_eq(ends_put(e, 0, bytes, used), used);
	/* Some of it is known and checked before the lie. */
	cr_assert_eq(ends_peek(e, 1, bytes, used, 0), used);
	atomic_store(&e->element.side[0].producer.cursor, cursor);
	memset(bytes, 0x5a, sizeof(bytes));
	cr_assert_eq(ends_take(e, 1, bytes, sizeof(bytes)), -ECONNRESET,
		     "start %lx, cursor %lx", (unsigned long)start,
		     (unsigned long)cursor);
	for (size_t i = 0; i < sizeof(bytes); i++)
		cr_assert_eq(bytes[i], 0x5a);
	cr_assert_eq(atomic_load(&e->slot[1].rx.position), start);
	cr_assert(atomic_load(&e->slot[1].rx.flags) & STREAM_BROKEN);
	/* No later cursor mends it. */
	atomic_store(&e->element.side[0].producer.cursor, start + used);
	cr_assert_eq(ends_take(e, 1, bytes, sizeof(bytes)), -ECONNRESET);
	cr_assert_eq(ends_peek(e, 1, bytes, sizeof(bytes), 0), -ECONNRESET);
	cr_assert_eq(atomic_load(&e->slot[1].rx.lock), 0);
	cr_assert_eq(atomic_load(counted), before + 1);
}

Test(stream_hostile, a_cursor_beyond_the_ring_is_a_reset)
{
	const uint64_t starts[] = {0, 1, 63, 64, 1000, 1ull << 32, 1ull << 62};
	const uint64_t by[] = {SIZE + 1,   SIZE + 2,   2 * SIZE,
			       4096,       1u << 20,   1ull << 31,
			       1ull << 32, 1ull << 40, INT64_MAX};
	size_t i;
	size_t k;

	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		for (k = 0; k < sizeof(by) / sizeof(by[0]); k++) {
			assert_reset(starts[i], 0, starts[i] + by[k]);
			assert_reset(starts[i], 10, starts[i] + by[k]);
		}
	assert_reset(0, 0, UINT64_MAX);
	assert_reset(5, 5, UINT64_MAX);
}

Test(stream_hostile, a_full_ring_is_no_reset)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	uint8_t bytes[SIZE];

	ends_move(e, 0, 1000);
	atomic_store(&e->element.side[0].producer.cursor, 1000 + SIZE);
	cr_assert_eq(ends_take(e, 1, bytes, SIZE), SIZE);
	cr_assert_eq(ends_take(e, 1, bytes, SIZE), 0);
}

Test(stream_hostile, a_cursor_that_goes_back_brings_no_byte_twice)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	uint8_t bytes[SIZE];

	ends_move(e, 0, 1000);
	ends_fill(bytes, 0, 40);
	cr_assert_eq(ends_put(e, 0, bytes, 40), 40);
	cr_assert_eq(ends_take(e, 1, bytes, 30), 30);
	for (uint64_t back = 0; back < 1040; back += 13) {
		atomic_store(&e->element.side[0].producer.cursor, back);
		/* What was seen before is still there, and no more. */
		cr_assert_eq(ends_peek(e, 1, bytes, SIZE, 0), 10);
		cr_assert(ends_right(bytes, 30, 10));
	}
	cr_assert_eq(ends_take(e, 1, bytes, SIZE), 10);
	cr_assert_eq(ends_take(e, 1, bytes, SIZE), 0);
	cr_assert_eq(atomic_load(&e->slot[1].rx.position), 1040);
}

Test(stream_hostile, what_came_before_the_lie_is_still_read)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	uint8_t bytes[SIZE];

	ends_fill(bytes, 0, 40);
	cr_assert_eq(ends_put(e, 0, bytes, 40), 40);
	cr_assert_eq(ends_peek(e, 1, bytes, 1, 0), 1);
	atomic_store(&e->element.side[0].producer.cursor, 1u << 30);
	/* As much as is known needs no look at the cursor. */
	cr_assert_eq(ends_take(e, 1, bytes, 40), 40);
	cr_assert(ends_right(bytes, 0, 40));
	cr_assert_eq(ends_take(e, 1, bytes, 1), -ECONNRESET);
}

Test(stream_hostile, readiness_is_never_more_than_the_ring)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	uint64_t random = 5;

	ends_move(e, 0, 1ull << 33);
	ends_move(e, 1, 1ull << 33);
	for (int i = 0; i < 100000; i++) {
		uint64_t any = (uint64_t)children_random(&random) << 32 |
			       children_random(&random);

		any >>= children_random(&random) % 64;
		atomic_store(&e->element.side[0].producer.cursor,
			     (1ull << 33) + any);
		atomic_store(&e->element.side[0].consumer.cursor,
			     (1ull << 33) - any);
		cr_assert_leq(stream_fill(&e->c[1]), SIZE);
		cr_assert_leq(stream_free(&e->c[1]), SIZE);
	}
}

/* ---- the reader's cursor, as its writer sees it ---- */

Test(stream_hostile, a_reader_cannot_give_room_that_there_is_not)
{
	const uint64_t lie[] = {
	    1001,       1063,       1065,      1000 + SIZE + 1,
	    1ull << 31, 1ull << 63, UINT64_MAX};
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	uint8_t bytes[2 * SIZE];
	size_t i;

	memset(bytes, 'x', sizeof(bytes));
	ends_move(e, 0, 1000);
	cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), SIZE);
	for (i = 0; i < sizeof(lie) / sizeof(lie[0]); i++) {
		uint64_t before = atomic_load(&e->slot[0].tx.position);
		ssize_t n;

		atomic_store(&e->element.side[1].consumer.cursor, lie[i]);
		n = ends_put(e, 0, bytes, sizeof(bytes));
		cr_assert_geq(n, 0);
		cr_assert_leq(n, SIZE);
		/* Never a full turn beyond a cursor that was possible. */
		cr_assert_leq(before + (uint64_t)n,
			      e->slot[0].tx.peer_position + SIZE);
	}
}

Test(stream_hostile, a_reader_that_goes_back_takes_no_room_away)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);
	uint8_t bytes[SIZE];

	memset(bytes, 'x', sizeof(bytes));
	ends_move(e, 0, 1000);
	cr_assert_eq(ends_put(e, 0, bytes, 50), 50);
	atomic_store(&e->element.side[1].consumer.cursor, 1040);
	cr_assert_eq(ends_put(e, 0, bytes, SIZE), 54);
	for (uint64_t back = 0; back < 1040; back += 17) {
		atomic_store(&e->element.side[1].consumer.cursor, back);
		cr_assert_eq(ends_put(e, 0, bytes, 1), 0);
	}
	atomic_store(&e->element.side[1].consumer.cursor, 1050);
	cr_assert_eq(ends_put(e, 0, bytes, SIZE), 10);
}

/* ---- everything at once ---- */

struct chaos {
	struct ends *e;
	_Atomic int over;
};

static uint64_t any_cursor(uint64_t *random, uint64_t near)
{
	uint64_t r = children_random(random);

	switch (r % 6) {
	case 0:
		return near + r / 6 % (2 * SIZE);
	case 1:
		return near - r / 6 % (2 * SIZE);
	case 2:
		return (uint64_t)children_random(random) << 32 | r;
	case 3:
		return UINT64_MAX - r / 6 % 1000;
	default:
		return near + r / 6 % (SIZE + 1);
	}
}

static void *scribble(void *argument)
{
	struct chaos *c = argument;
	struct rmb_element *el = &c->e->element;
	uint64_t random = 11;

	while (!atomic_load(&c->over)) {
		uint64_t in = atomic_load(&c->e->slot[0].rx.position);
		uint64_t out = atomic_load(&c->e->slot[0].tx.position);

		atomic_store(&el->side[1].producer.cursor,
			     any_cursor(&random, in));
		atomic_store(&el->side[1].consumer.cursor,
			     any_cursor(&random, out - SIZE));
		atomic_store(&el->side[1].consumer.flags,
			     children_random(&random) & ~CONSUMER_DEMOTE);
		atomic_store(&el->side[1].producer.flags,
			     children_random(&random));
		for (int side = 0; side < 2; side++) {
			struct rmb_producer *p = &el->side[side].producer;
			uint64_t near = side ? in : out;

			atomic_store(&p->before, children_random(&random));
			atomic_store(&p->shift, children_random(&random));
			atomic_store(&p->switched, any_cursor(&random, near));
		}
		atomic_store(&el->side[1].wait.armed_data,
			     children_random(&random));
		atomic_store(&el->side[1].wait.armed_room,
			     children_random(&random));
		atomic_store(&el->side[1].wait.waiter,
			     children_random(&random) % 520);
		atomic_store(&c->e->waiters[1].armed[children_random(&random) %
						     RMB_WAITERS],
			     1);
	}
	return NULL;
}

static void enter_overflow(struct ends *e)
{
	bool taken = stream_lock(&e->slot[0].tx);

	stream_enter_overflow(&e->c[0]);
	e->c[0].out_memory.return_at =
	    e->slot[0].tx.position + 4 * (uint64_t)SIZE;
	stream_unlock(&e->slot[0].tx, taken);
}

static void one_call(struct ends *e, uint64_t *random)
{
	struct status_slot *s = &e->slot[0];
	uint8_t bytes[3 * SIZE];
	size_t n = children_random(random) % sizeof(bytes);
	struct room room;
	ssize_t k;

	switch (children_random(random) % 4) {
	case 0:
		if (children_random(random) % 8 == 0)
			enter_overflow(e);
		k = ends_put(e, 0, bytes, n);
		break;
	case 1:
		k = ends_take(e, 0, bytes, n);
		break;
	case 2:
		k = ends_peek(e, 0, bytes, n, children_random(random) % 100);
		break;
	default:
		k = stream_room_begin(&e->c[0], &room);
		if (k < 0)
			break;
		memset(room.piece[0].iov_base, 1, room.piece[0].iov_len);
		memset(room.piece[1].iov_base, 2, room.piece[1].iov_len);
		stream_room_end(&e->c[0], &room, (size_t)k);
		n = e->c[0].size;
		break;
	}
	cr_assert_leq(k, (ssize_t)n);
	cr_assert_leq(s->rx.peer_position - s->rx.position, e->c[0].size);
	cr_assert_leq(s->tx.position - s->tx.peer_position, e->c[0].size);
	if (k == -ECONNRESET)
		atomic_store(&s->rx.flags, 0);
	else
		cr_assert_geq(k, 0, "%zd", k);
}

static void play_chaos(struct ends *e)
{
	struct chaos c = {.e = e};
	uint64_t random = 12;
	pthread_t thread;

	ends_move(c.e, 0, 1ull << 40);
	ends_move(c.e, 1, 1ull << 40);
	cr_assert_eq(pthread_create(&thread, NULL, scribble, &c), 0);
	for (int i = 0; i < 300000; i++)
		one_call(c.e, &random);
	atomic_store(&c.over, 1);
	pthread_join(thread, NULL);
}

Test(stream_hostile, no_word_of_the_peer_leads_out_of_the_ring)
{
	alarm(50);
	play_chaos(ends_make(SIZE, ENDS_HIGH));
}

Test(stream_hostile, nor_out_of_one_with_an_overflow)
{
	struct ends *e = ends_make(SIZE, ENDS_HIGH);

	alarm(50);
	ends_build(e, ENDS_HIGH);
	play_chaos(e);
}
