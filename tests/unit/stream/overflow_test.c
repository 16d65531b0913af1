/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/unit/ends.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define SIZE     64u
#define OVERFLOW (ENDS_OVERFLOW * SIZE)

static struct ends *build(uint32_t size)
{
	struct ends *e = ends_make(size, ENDS_HIGH);

	ends_build(e, ENDS_LOW);
	return e;
}

static bool enter(struct ends *e, uint64_t stay)
{
	bool taken = stream_lock(&e->slot[0].tx);
	bool done = stream_enter_overflow(&e->c[0]);

	if (done)
		e->c[0].out_memory.return_at = e->slot[0].tx.position + stay;
	stream_unlock(&e->slot[0].tx, taken);
	return done;
}

static bool is_in_overflow(const struct ends *e)
{
	return connection_ring_out(&e->c[0]) == &e->c[0].out.ring[1];
}

static size_t put(struct ends *e, uint64_t *written, size_t n)
{
	uint8_t bytes[2 * OVERFLOW];
	ssize_t k;

	/* Rings this small are gone through before anybody would look. */
	e->c[0].pace.rewind_at = 0;
	ends_fill(bytes, *written, n);
	k = ends_put(e, 0, bytes, n);
	cr_assert_geq(k, 0);
	*written += (uint64_t)k;
	return (size_t)k;
}

static size_t take(struct ends *e, uint64_t *read, size_t n)
{
	uint8_t bytes[2 * OVERFLOW];
	ssize_t k = ends_take(e, 1, bytes, n);

	cr_assert_geq(k, 0);
	cr_assert(ends_right(bytes, *read, (size_t)k), "at %lu",
		  (unsigned long)*read);
	*read += (uint64_t)k;
	return (size_t)k;
}

/* ---- one call after the other ---- */

Test(overflow, a_full_ring_goes_on_there_and_is_read_in_one_call)
{
	struct ends *e = build(SIZE);
	uint64_t written = 0;
	uint64_t read = 0;

	cr_assert_eq(put(e, &written, SIZE + 9), SIZE);
	cr_assert_eq(stream_free(&e->c[0]), 0);
	cr_assert(enter(e, UINT32_MAX));
	/* No more of both rings is free than the overflow ring holds. */
	cr_assert_eq(stream_free(&e->c[0]), OVERFLOW - SIZE);
	cr_assert_eq(put(e, &written, OVERFLOW), OVERFLOW - SIZE);
	cr_assert_eq(stream_fill(&e->c[1]), OVERFLOW);
	cr_assert_eq(take(e, &read, 2 * OVERFLOW), OVERFLOW);
	cr_assert_eq(stream_fill(&e->c[1]), 0);
	cr_assert_eq(put(e, &written, 2 * OVERFLOW), OVERFLOW);
	cr_assert_eq(take(e, &read, 2 * OVERFLOW), OVERFLOW);
}

Test(overflow, peeking_goes_across)
{
	struct ends *e = build(SIZE);
	uint64_t written = 0;
	uint8_t bytes[OVERFLOW];

	put(e, &written, SIZE);
	enter(e, UINT32_MAX);
	put(e, &written, SIZE);
	for (size_t skip = 0; skip <= 2 * SIZE; skip++)
		for (size_t n = 1; n <= 2 * SIZE; n += 3) {
			size_t there = 2 * SIZE - skip;
			size_t want = n < there ? n : there;

			cr_assert_eq(ends_peek(e, 1, bytes, n, skip), want);
			cr_assert(ends_right(bytes, skip, want));
		}
}

Test(overflow, it_is_not_entered_before_its_last_bytes_are_read)
{
	struct ends *e = build(SIZE);
	uint64_t written = 0;
	uint64_t read = 0;

	put(e, &written, SIZE);
	cr_assert(enter(e, 1));
	/* There already. */
	cr_assert_not(enter(e, 1));
	put(e, &written, 16);
	take(e, &read, SIZE);
	/* The stay is over: the next one goes to the RMBE. */
	for (int i = 0; i < 8 && is_in_overflow(e); i++) {
		put(e, &written, 8);
		take(e, &read, 8);
	}
	cr_assert(!is_in_overflow(e));
	cr_assert_gt(written - read, 0);
	cr_assert_not(enter(e, 1), "%lu bytes lie there",
		      (unsigned long)(written - read));
	take(e, &read, SIZE);
	cr_assert_eq(read, written);
	cr_assert(enter(e, 1));
}

Test(overflow, a_conversation_leaves_it_when_the_stay_is_over)
{
	struct ends *e = build(SIZE);
	uint64_t written = 0;
	uint64_t read = 0;
	uint8_t answer[1];

	put(e, &written, SIZE);
	cr_assert(enter(e, 3 * SIZE));
	for (int i = 0; i < 16; i++) {
		take(e, &read, OVERFLOW);
		cr_assert_eq(ends_put(e, 1, "a", 1), 1);
		cr_assert_eq(ends_take(e, 0, answer, 1), 1);
		put(e, &written, 16);
		cr_assert_eq(is_in_overflow(e), written - 16 < 4 * SIZE);
	}
	take(e, &read, OVERFLOW);
	cr_assert_eq(read, written);
}

Test(overflow, small_buffers_are_kept_there_too)
{
	struct ends *e = build(RMB_LIMIT_MIN);
	uint64_t written = 0;
	uint64_t read = 0;

	atomic_store(&e->element.side[0].producer.limit, 2 * RMB_LIMIT_MIN);
	while (written < RMB_LIMIT_MIN)
		put(e, &written, 2 * OVERFLOW);
	cr_assert(enter(e, UINT32_MAX));
	cr_assert_eq(stream_free(&e->c[0]), RMB_LIMIT_MIN);
	while (read < written)
		take(e, &read, 2 * OVERFLOW);
	cr_assert_eq(stream_free(&e->c[0]), 2 * RMB_LIMIT_MIN);
}

/* Byte by byte, from either ring: no later than when a third is free. */
Test(overflow, a_writer_that_sleeps_hears_of_room_in_time)
{
	struct ends *e = build(SIZE);
	struct rmb_wait *w = &e->element.side[0].wait;
	const uint32_t mark = OVERFLOW - OVERFLOW / 3;

	for (size_t more = mark - SIZE + 1; more <= OVERFLOW - SIZE; more++) {
		uint64_t written = 0;
		uint64_t read = 0;

		ends_move(e, 0, 0);
		atomic_store(&e->element.side[0].producer.switched, 0);
		atomic_store(&e->element.side[0].producer.shift, 0);
		put(e, &written, SIZE);
		cr_assert(enter(e, UINT32_MAX));
		cr_assert_eq(put(e, &written, more), more);
		cr_assert_not(stream_has_room(&e->c[0], stream_free(&e->c[0])));
		while (written - read > mark) {
			atomic_store(&w->armed_room, RMB_ARMED);
			take(e, &read, 1);
		}
		cr_assert_eq(atomic_load(&w->armed_room), 0, "%zu", more);
		cr_assert(stream_has_room(&e->c[0], stream_free(&e->c[0])));
	}
}

/* Sizes, places and turns as they come. */
Test(overflow, any_order_of_calls_keeps_the_bytes)
{
	struct ends *e = build(SIZE);
	unsigned entered = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;
		uint64_t start = seed % 3 ? seed * 77 : (1ull << 32) - seed;
		uint64_t written = start;
		uint64_t read = start;
		uint8_t answer[1];

		ends_move(e, 0, start);
		ends_move(e, 1, start);
		atomic_store(&e->element.side[0].producer.switched, 0);
		atomic_store(&e->element.side[0].producer.shift, 0);
		for (int i = 0; i < 1000; i++) {
			size_t n = children_random(&random) % (OVERFLOW + 20);

			switch (children_random(&random) % 6) {
			case 0:
			case 1:
				put(e, &written, n);
				break;
			case 2:
			case 3:
				take(e, &read, n);
				break;
			case 4:
				entered += enter(e, n);
				break;
			default:
				ends_put(e, 1, "a", 1);
				ends_take(e, 0, answer, 1);
				break;
			}
			cr_assert_eq(stream_fill(&e->c[1]), written - read);
			cr_assert_leq(written - read, OVERFLOW);
		}
		take(e, &read, 2 * OVERFLOW);
		cr_assert_eq(read, written);
	}
	cr_assert_gt(entered, 2000);
}

/* ---- both at once ---- */

#define RACE_BYTES (1u << 24)

static void *read_all(void *argument)
{
	struct ends *e = argument;
	uint64_t random = 5;
	uint64_t read = 0;

	while (read < RACE_BYTES) {
		if (take(e, &read, 1 + children_random(&random) % OVERFLOW) ==
		    0)
			sched_yield();
		if (children_random(&random) % 64 == 0)
			ends_put(e, 1, "a", 1);
	}
	return NULL;
}

Test(overflow, a_reader_follows_wherever_the_writer_goes)
{
	struct ends *e = build(SIZE);
	uint64_t random = 7;
	uint64_t written = 0;
	unsigned entered = 0;
	pthread_t reader;
	uint8_t answer[SIZE];

	alarm(50);
	cr_assert_eq(pthread_create(&reader, NULL, read_all, e), 0);
	while (written < RACE_BYTES) {
		size_t n = 1 + children_random(&random) % OVERFLOW;

		if (n > RACE_BYTES - written)
			n = (size_t)(RACE_BYTES - written);
		if (put(e, &written, n) == 0)
			sched_yield();
		if (children_random(&random) % 4 == 0)
			entered += enter(e, children_random(&random) % 1024);
		if (children_random(&random) % 16 == 0)
			ends_take(e, 0, answer, sizeof(answer));
	}
	pthread_join(reader, NULL);
	cr_assert_gt(entered, 1000);
}
