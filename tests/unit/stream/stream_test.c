/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/unit/ends.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- every size at every place of a small ring ---- */

/* What ought to happen, in the simplest words: a list of bytes. */
struct model {
	uint64_t written;
	uint64_t read;
};

static size_t model_put(struct model *m, size_t size, size_t n)
{
	size_t room = size - (size_t)(m->written - m->read);

	/* A short one goes as a whole. */
	if (n <= size / 4 && n > room)
		return 0;
	n = n < room ? n : room;
	m->written += n;
	return n;
}

static size_t model_take(struct model *m, size_t n)
{
	size_t there = (size_t)(m->written - m->read);

	n = n < there ? n : there;
	m->read += n;
	return n;
}

static void put_checked(struct ends *e, struct model *m, size_t n)
{
	uint8_t bytes[256];
	uint64_t at = m->written;

	ends_fill(bytes, at, n);
	cr_assert_eq(ends_put(e, 0, bytes, n), model_put(m, e->size, n));
	cr_assert_eq(atomic_load(&e->element.side[0].producer.cursor),
		     m->written);
	cr_assert_eq(stream_fill(&e->c[1]), m->written - m->read);
	cr_assert_eq(stream_free(&e->c[0]), e->size - (m->written - m->read));
}

static void take_checked(struct ends *e, struct model *m, size_t n)
{
	uint8_t bytes[256];
	uint64_t at = m->read;
	size_t expected = model_take(m, n);

	memset(bytes, 0x5a, sizeof(bytes));
	cr_assert_eq(ends_take(e, 1, bytes, n), expected);
	cr_assert(ends_right(bytes, at, expected));
	/* Not a byte more was touched. */
	for (size_t i = expected; i < sizeof(bytes); i++)
		cr_assert_eq(bytes[i], 0x5a);
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.cursor), m->read);
	cr_assert_eq(stream_fill(&e->c[1]), m->written - m->read);
}

static void all_sizes(uint32_t size, enum ends_place place)
{
	struct ends *e = ends_make(size, place);

	for (uint64_t start = 0; start < size; start++)
		for (size_t fill = 0; fill <= size + 2; fill++)
			for (size_t take = 0; take <= size + 2; take++) {
				struct model m = {start, start};

				ends_move(e, 0, start);
				put_checked(e, &m, fill);
				take_checked(e, &m, take);
				put_checked(e, &m, fill);
				take_checked(e, &m, 2 * size);
			}
}

Test(stream, every_size_fits_at_every_place_of_a_small_ring)
{
	all_sizes(1, ENDS_HIGH);
	all_sizes(16, ENDS_HIGH);
	all_sizes(16, ENDS_LOW);
}

Test(stream, cursors_may_pass_every_power_of_two)
{
	struct ends *e = ends_make(64, ENDS_HIGH);

	for (int bit = 6; bit < 64; bit++)
		for (int before = 0; before < 64; before += 7) {
			uint64_t start = (1ull << bit) - (uint64_t)before;
			struct model m = {start, start};

			ends_move(e, 0, start);
			for (int i = 0; i < 4; i++) {
				put_checked(e, &m, 41);
				take_checked(e, &m, 40);
			}
		}
}

/* ---- anything, against the model ---- */

static void any_operation(struct ends *e, struct model *m, uint64_t *random)
{
	uint8_t bytes[256];
	size_t n = children_random(random) % 200;
	size_t skip = children_random(random) % 100;
	size_t there = (size_t)(m->written - m->read);
	struct iovec v = {NULL, 0};
	struct place p;

	switch (children_random(random) % 4) {
	case 0:
		put_checked(e, m, n);
		break;
	case 1:
		take_checked(e, m, n);
		break;
	case 2:
		there = there > skip ? there - skip : 0;
		n = n < there ? n : there;
		cr_assert_eq(ends_peek(e, 1, bytes, n, skip), n);
		cr_assert(ends_right(bytes, m->read + skip, n));
		break;
	default:
		place_init(&p, &v, 1);
		cr_assert_eq(stream_take(&e->c[1], &p, n, 0, TAKE_DISCARD),
			     model_take(m, n));
		break;
	}
}

Test(stream, any_order_of_calls_does_what_the_model_does)
{
	struct ends *e = ends_make(128, ENDS_HIGH);

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;
		struct model m = {seed * 77, seed * 77};

		ends_move(e, 0, seed * 77);
		for (int i = 0; i < 2000; i++)
			any_operation(e, &m, &random);
	}
}

Test(stream, the_two_directions_know_nothing_of_each_other)
{
	struct ends *e = ends_make(64, ENDS_HIGH);
	uint8_t bytes[64];

	cr_assert_eq(ends_put(e, 0, "from server", 11), 11);
	cr_assert_eq(ends_put(e, 1, "client", 6), 6);
	cr_assert_eq(ends_take(e, 0, bytes, sizeof(bytes)), 6);
	cr_assert_arr_eq(bytes, "client", 6);
	cr_assert_eq(ends_take(e, 1, bytes, sizeof(bytes)), 11);
	cr_assert_arr_eq(bytes, "from server", 11);
	cr_assert_eq(ends_take(e, 0, bytes, sizeof(bytes)), 0);
}

/* ---- many buffers ---- */

static size_t split(struct iovec *v, uint8_t *bytes, size_t n, uint64_t *random)
{
	size_t count = 0;
	size_t at = 0;

	while (at < n) {
		size_t k = children_random(random) % 40;

		k = k < n - at ? k : n - at;
		v[count].iov_base = k ? bytes + at : NULL;
		v[count++].iov_len = k;
		at += k;
	}
	return count;
}

Test(stream, bytes_keep_their_order_over_many_buffers)
{
	struct ends *e = ends_make(4096, ENDS_HIGH);
	static struct iovec v[8192];
	static uint8_t bytes[4096];
	uint64_t random = 99;
	uint64_t at = 0;

	for (int i = 0; i < 300; i++) {
		size_t n = 1 + children_random(&random) % 4096;
		struct place p;

		ends_fill(bytes, at, n);
		place_init(&p, v, split(v, bytes, n, &random));
		cr_assert_eq(stream_put(&e->c[0], &p, n), n);
		cr_assert_eq(p.count, 0);
		memset(bytes, 0, n);
		place_init(&p, v, split(v, bytes, n, &random));
		cr_assert_eq(stream_take(&e->c[1], &p, n, 0, 0), n);
		cr_assert(ends_right(bytes, at, n));
		at += n;
	}
}

Test(stream, buffers_that_are_filled_in_part_are_gone_on_with)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	uint8_t a[10];
	uint8_t b[10];
	struct iovec v[2] = {{a, 10}, {b, 10}};
	struct place p;

	place_init(&p, v, 2);
	cr_assert_eq(ends_put(e, 0, "0123456789abcdef", 16), 16);
	cr_assert_eq(stream_take(&e->c[1], &p, 7, 0, 0), 7);
	cr_assert_eq(stream_take(&e->c[1], &p, 13, 0, 0), 9);
	cr_assert_eq(ends_put(e, 0, "ghij", 4), 4);
	cr_assert_eq(stream_take(&e->c[1], &p, 4, 0, 0), 4);
	cr_assert_arr_eq(a, "0123456789", 10);
	cr_assert_arr_eq(b, "abcdefghij", 10);
}

Test(stream, rings_of_all_real_sizes_are_filled_and_emptied)
{
	for (uint32_t size = RMB_RMBE_MIN; size <= RMB_RMBE_MAX; size *= 2) {
		struct ends *e = ends_make(size, ENDS_HIGH);
		uint8_t *bytes = malloc(size + 1);

		cr_assert_not_null(bytes);
		ends_move(e, 0, size - 12345);
		ends_fill(bytes, 0, size + 1);
		cr_assert_eq(ends_put(e, 0, bytes, size + 1), size);
		cr_assert_eq(ends_put(e, 0, bytes, 1), 0);
		cr_assert(!stream_has_room(&e->c[0], stream_free(&e->c[0])));
		memset(bytes, 0, size);
		cr_assert_eq(ends_take(e, 1, bytes, size + 1), size);
		cr_assert(ends_right(bytes, 0, size));
		cr_assert(stream_has_room(&e->c[0], stream_free(&e->c[0])));
		free(bytes);
	}
}

/* ---- room that the caller fills ---- */

Test(stream, room_is_all_that_is_free_in_two_pieces)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	uint8_t bytes[16];

	for (uint64_t start = 0; start < 16; start++)
		for (size_t used = 0; used <= 16; used++) {
			struct room r;
			size_t first;

			ends_move(e, 0, start);
			ends_fill(bytes, 0, used);
			cr_assert_eq(ends_put(e, 0, bytes, used), used);
			cr_assert_eq(stream_room_begin(&e->c[0], &r),
				     16 - used);
			first = r.piece[0].iov_len;
			cr_assert_eq(first + r.piece[1].iov_len, 16 - used);
			ends_fill(r.piece[0].iov_base, used, first);
			ends_fill(r.piece[1].iov_base, used + first,
				  r.piece[1].iov_len);
			stream_room_end(&e->c[0], &r, 16 - used);
			cr_assert_eq(ends_take(e, 1, bytes, 16), 16);
			cr_assert(ends_right(bytes, 0, 16));
		}
}

/* ---- a writer that sleeps for room ---- */

#define SLEEP_SIZE 65536u

/* As if the writer had filled the ring after the reader last looked at its
 * cursor, and gone to sleep. The reader then believes in `view` bytes. */
static struct ends *sleeper(size_t view)
{
	static uint8_t bytes[SLEEP_SIZE];
	struct ends *e = ends_make(SLEEP_SIZE, ENDS_HIGH);

	cr_assert_eq(ends_put(e, 0, bytes, view + 1), view + 1);
	cr_assert_eq(ends_take(e, 1, bytes, 1), 1);
	ends_put(e, 0, bytes, sizeof(bytes));
	cr_assert_eq(stream_fill(&e->c[1]), SLEEP_SIZE);
	atomic_store(&e->element.side[0].wait.armed_room, 1);
	return e;
}

static bool is_asleep(struct ends *e)
{
	return atomic_load(&e->element.side[0].wait.armed_room) == 1;
}

Test(stream, a_sleeping_writer_is_woken_at_the_mark_whatever_the_reader_saw)
{
	static uint8_t bytes[SLEEP_SIZE];

	for (size_t view = 0; view < SLEEP_SIZE; view += 500)
		for (size_t n = 3000; n < SLEEP_SIZE; n = n * 2 + 7) {
			struct ends *e = sleeper(view);

			while (stream_fill(&e->c[1]) > SLEEP_SIZE / 3 * 2 + 1) {
				/* Woken too early, it sleeps again. */
				atomic_store(
				    &e->element.side[0].wait.armed_room, 1);
				ends_take(e, 1, bytes, n);
			}
			cr_assert(!is_asleep(e), "not woken: view %zu, n %zu",
				  view, n);
			munmap(e->ring[0], SLEEP_SIZE);
			munmap(e->ring[1], SLEEP_SIZE);
		}
}

Test(stream, room_that_was_not_filled_is_free_again)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	struct room r;

	cr_assert_eq(stream_room_begin(&e->c[0], &r), 16);
	stream_room_end(&e->c[0], &r, 0);
	cr_assert_eq(stream_fill(&e->c[1]), 0);
	cr_assert_eq(stream_room_begin(&e->c[0], &r), 16);
	stream_room_end(&e->c[0], &r, 3);
	cr_assert_eq(stream_fill(&e->c[1]), 3);
	cr_assert_eq(stream_free(&e->c[0]), 13);
	cr_assert_eq(atomic_load(&e->slot[0].tx.lock), 0);
}

/* ---- what a direction may be told ---- */

Test(stream, a_connection_that_is_gone_moves_nothing)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	uint8_t bytes[16];
	struct room r;

	cr_assert_eq(ends_put(e, 0, "abc", 3), 3);
	atomic_store(&e->c[1].dead, 1);
	cr_assert_eq(ends_take(e, 1, bytes, 16), -EBADF);
	cr_assert_eq(ends_peek(e, 1, bytes, 16, 0), -EBADF);
	cr_assert_eq(ends_put(e, 1, "x", 1), -EBADF);
	cr_assert_eq(stream_room_begin(&e->c[1], &r), -EBADF);
	cr_assert_eq(atomic_load(&e->slot[1].tx.lock), 0);
	cr_assert_eq(atomic_load(&e->slot[1].rx.lock), 0);
}

Test(stream, a_direction_that_is_tcps_moves_nothing)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	uint8_t bytes[16];
	struct room r;

	cr_assert_eq(ends_put(e, 0, "abc", 3), 3);
	atomic_store(&e->slot[1].rx.flags, STREAM_TCP);
	cr_assert_eq(ends_take(e, 1, bytes, 16), -EPIPE);
	atomic_store(&e->slot[0].tx.flags, STREAM_TCP);
	cr_assert_eq(ends_put(e, 0, "x", 1), -EPIPE);
	cr_assert_eq(stream_room_begin(&e->c[0], &r), -EPIPE);
	/* The other direction goes on. */
	cr_assert_eq(ends_put(e, 1, "x", 1), 1);
	cr_assert_eq(ends_take(e, 0, bytes, 16), 1);
}

Test(stream, a_reader_that_asks_for_tcp_gets_no_further_byte)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	struct room r;

	cr_assert_eq(ends_put(e, 0, "abc", 3), 3);
	atomic_store(&e->element.side[1].consumer.flags, CONSUMER_DEMOTE);
	cr_assert_eq(ends_put(e, 0, "d", 1), -EPIPE);
	cr_assert_eq(stream_room_begin(&e->c[0], &r), -EPIPE);
	cr_assert_eq(atomic_load(&e->element.side[0].producer.cursor), 3);
}

Test(stream, a_frozen_reader_takes_nothing_and_may_look)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	uint8_t bytes[16];

	cr_assert_eq(ends_put(e, 0, "abc", 3), 3);
	atomic_store(&e->slot[1].rx.flags, STREAM_FROZEN);
	cr_assert_eq(ends_take(e, 1, bytes, 16), 0);
	cr_assert_eq(ends_peek(e, 1, bytes, 16, 0), 3);
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.cursor), 0);
}

Test(stream, calls_that_moved_bytes_are_counted)
{
	struct ends *e = ends_make(16, ENDS_HIGH);
	uint8_t bytes[16];

	for (int i = 0; i < 5; i++)
		cr_assert_eq(ends_put(e, 0, "abc", 3), 3);
	/* Three go whole or not at all. */
	cr_assert_eq(ends_put(e, 0, "abc", 3), 0);
	cr_assert_eq(ends_put(e, 0, "abcde", 5), 1);
	cr_assert_eq(ends_put(e, 0, "abcde", 5), 0);
	cr_assert_eq(ends_peek(e, 1, bytes, 16, 0), 16);
	cr_assert_eq(ends_take(e, 1, bytes, 16), 16);
	cr_assert_eq(ends_take(e, 1, bytes, 16), 0);
	cr_assert_eq(atomic_load(&e->slot[0].tx.requests), 6);
	cr_assert_eq(atomic_load(&e->slot[1].rx.requests), 1);
	cr_assert_eq(atomic_load(&e->slot[0].tx.position), 16);
	cr_assert_eq(atomic_load(&e->slot[1].rx.position), 16);
}

/* ---- two threads ---- */

#define FLOW_BYTES (24u << 20)

struct flow {
	struct ends *e;
	int wrong;
};

static void *write_all(void *argument)
{
	struct flow *f = argument;
	static uint8_t bytes[40000];
	uint64_t random = 3;
	uint64_t at = 0;

	while (at < FLOW_BYTES) {
		size_t n = 1 + children_random(&random) % sizeof(bytes);
		size_t done = 0;

		n = n < FLOW_BYTES - at ? n : FLOW_BYTES - at;
		ends_fill(bytes, at, n);
		while (done < n) {
			ssize_t k = ends_put(f->e, 0, bytes + done, n - done);

			if (k < 0)
				return NULL;
			if (k == 0)
				sched_yield();
			done += (size_t)k;
		}
		at += n;
	}
	return NULL;
}

static void *read_all(void *argument)
{
	struct flow *f = argument;
	static uint8_t bytes[40000];
	uint64_t random = 4;
	uint64_t at = 0;

	while (at < FLOW_BYTES && !f->wrong) {
		size_t want = 1 + children_random(&random) % sizeof(bytes);
		ssize_t n = children_random(&random) % 8
				? ends_take(f->e, 1, bytes, want)
				: ends_peek(f->e, 1, bytes, want, 0);
		uint64_t moved = atomic_load(&f->e->slot[1].rx.position);

		if (n < 0 || !ends_right(bytes, at, (size_t)n))
			f->wrong = 1;
		if (n == 0)
			sched_yield();
		at = moved;
	}
	return NULL;
}

Test(stream, a_writer_and_a_reader_need_no_lock_between_them)
{
	struct flow f = {ends_make(16384, ENDS_HIGH), 0};
	pthread_t writer;

	alarm(50);
	cr_assert_eq(pthread_create(&writer, NULL, write_all, &f), 0);
	read_all(&f);
	pthread_join(writer, NULL);
	cr_assert_eq(f.wrong, 0);
	cr_assert_eq(atomic_load(&f.e->slot[1].rx.position), FLOW_BYTES);
}

/* Four bytes each; a reader that gets them from two writers mixed is wrong. */
#define WORDS 60000u

struct crowd {
	struct ends *e;
	_Atomic uint32_t next;
	_Atomic uint64_t sum;
	_Atomic uint32_t count;
};

static void *write_words(void *argument)
{
	struct crowd *c = argument;
	uint32_t word;

	while ((word = atomic_fetch_add(&c->next, 1)) < WORDS) {
		uint32_t twice[2] = {word, ~word};

		while (ends_put(c->e, 0, twice, sizeof(twice)) != sizeof(twice))
			sched_yield();
	}
	return NULL;
}

static void *read_words(void *argument)
{
	struct crowd *c = argument;
	uint32_t twice[2];

	while (atomic_load(&c->count) < WORDS) {
		if (ends_take(c->e, 1, twice, sizeof(twice)) == 0) {
			sched_yield();
			continue;
		}
		if (twice[1] != ~twice[0])
			break;
		atomic_fetch_add(&c->sum, twice[0]);
		atomic_fetch_add(&c->count, 1);
	}
	return NULL;
}

Test(stream, threads_of_one_end_take_turns)
{
	struct crowd c = {.e = ends_make(4096, ENDS_HIGH)};
	pthread_t thread[4];

	alarm(50);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL,
					    i & 1 ? read_words : write_words,
					    &c),
			     0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	cr_assert_eq(atomic_load(&c.count), WORDS);
	cr_assert_eq(atomic_load(&c.sum), (uint64_t)WORDS * (WORDS - 1) / 2);
}
