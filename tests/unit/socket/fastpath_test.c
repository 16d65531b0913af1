/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fastpath: the short way does what the long one does, or nothing at all.
 */
#include "tests/unit/ends.h"

#include <sys/socket.h>

#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/sys.h"
#include "smc_r/socket/fastpath.h"

#define DONTWAIT MSG_DONTWAIT

static struct ends *e;

static ssize_t put(const void *from, size_t n)
{
	return fastpath_send(&e->c[0], -1, from, n, DONTWAIT);
}

static ssize_t take(void *to, size_t n)
{
	return fastpath_receive(&e->c[1], to, n, DONTWAIT);
}

/* All of it, or none and no cursor moved. */
static void put_checked(uint64_t at, size_t n, size_t free)
{
	uint8_t bytes[256];
	ssize_t expected = n > 0 && n <= e->size / 4 && n <= free ? n : 0;

	ends_fill(bytes, at, n);
	cr_assert_eq(put(bytes, n), expected);
	cr_assert_eq(atomic_load(&e->element.side[0].producer.cursor),
		     at + (size_t)expected);
	cr_assert_eq(atomic_load(&e->slot[0].tx.lock), 0);
}

static void take_checked(uint64_t at, size_t n, size_t fill)
{
	uint8_t bytes[256];
	ssize_t got;

	memset(bytes, 0x5a, sizeof(bytes));
	got = take(bytes, n);
	/* Not across the ring's end, and otherwise what is there. */
	if (got == 0)
		cr_assert(n == 0 || fill == 0 ||
			  (at & (e->size - 1)) + (n < fill ? n : fill) >
			      e->size);
	else
		cr_assert_eq(got, n < fill ? n : fill);
	cr_assert(ends_right(bytes, at, (size_t)got));
	for (size_t i = (size_t)got; i < sizeof(bytes); i++)
		cr_assert_eq(bytes[i], 0x5a);
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.cursor),
		     at + (size_t)got);
	cr_assert_eq(atomic_load(&e->slot[1].rx.lock), 0);
}

Test(fastpath, every_size_at_every_place_of_a_small_ring)
{
	uint8_t bytes[256];

	e = ends_make(128, ENDS_HIGH);
	for (uint64_t start = 0; start < 128; start++)
		for (size_t n = 0; n <= 34; n++)
			for (size_t k = 0; k <= 66; k++) {
				size_t fill = n <= 32 ? n : 0;

				ends_move(e, 0, start);
				put_checked(start, n, 128);
				ends_fill(bytes, start + fill, 31);
				cr_assert_eq(ends_put(e, 0, bytes, 31), 31);
				take_checked(start, k, fill + 31);
			}
}

Test(fastpath, a_full_ring_is_left_alone)
{
	uint8_t bytes[32] = {0};

	e = ends_make(128, ENDS_HIGH);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(put(bytes, 32), 32);
	cr_assert_eq(put(bytes, 1), 0);
	cr_assert_eq(take(bytes, 32), 32);
	cr_assert_eq(put(bytes, 32), 32);
	cr_assert_eq(put(bytes, 1), 0);
}

/* Both ends of one connection, each by the way that it likes. */
Test(fastpath, both_ways_mix)
{
	static uint8_t bytes[4096];
	uint64_t written = 0;
	uint64_t read = 0;
	unsigned dice = 1;

	e = ends_make(16384, ENDS_HIGH);
	while (read < 1000000) {
		size_t n;
		ssize_t k;

		dice = dice * 1103515245 + 12345;
		n = (dice >> 8) % (sizeof(bytes) + 1);
		ends_fill(bytes, written, n);
		k = dice & 1u << 30 ? put(bytes, n) : ends_put(e, 0, bytes, n);
		written += (size_t)k;
		dice = dice * 1103515245 + 12345;
		n = (dice >> 8) % (sizeof(bytes) + 1);
		k = dice & 1u << 30 ? take(bytes, n)
				    : ends_take(e, 1, bytes, n);
		cr_assert(ends_right(bytes, read, (size_t)k));
		read += (size_t)k;
		cr_assert_leq(read, written);
	}
}

/* ---- what is left to socket_io ---- */

static void assert_no_send(_Atomic uint32_t *word, uint32_t bit)
{
	char byte = 'x';

	atomic_fetch_or(word, bit);
	cr_assert_eq(put(&byte, 1), 0, "bit %u", bit);
	atomic_fetch_and(word, ~bit);
	cr_assert_eq(put(&byte, 1), 1);
}

Test(fastpath, a_send_leaves_everything_else_alone)
{
	struct connection *c;
	char byte = 'x';

	e = ends_make(1024, ENDS_HIGH);
	c = &e->c[0];
	assert_no_send(&c->slot->tx.flags, STREAM_SHUT);
	assert_no_send(&c->slot->tx.flags, STREAM_TCP);
	assert_no_send(&c->slot->rx.flags, STREAM_RESET);
	assert_no_send(&c->out_consumer->flags, CONSUMER_DEMOTE);
	assert_no_send(&c->in_producer->flags, PRODUCER_CLOSED);
	assert_no_send(&c->in_producer->flags, PRODUCER_SEALED);
	assert_no_send(&c->tcp.ended, 1);
	assert_no_send(&c->dead, 1);
	cr_assert_eq(fastpath_send(c, -1, &byte, 1, MSG_OOB), 0);
	cr_assert_eq(fastpath_send(c, -1, &byte, 1, MSG_ZEROCOPY), 0);
	cr_assert_eq(put(&byte, 0), 0);
	cr_assert_eq(put(NULL, 1), 0);
	atomic_store(&c->slot->phase, PHASE_HANDSHAKE);
	cr_assert_eq(put(&byte, 1), 0);
}

/* Times that are over, or to come, whatever the processor does meanwhile. */
#define LONG_AGO (sys_ticks() - (1ull << 40))
#define LATELY   (sys_ticks() + (1ull << 40))

static bool asks_tcp(struct connection *c, uint64_t asked)
{
	c->tcp.asked_ticks = asked;
	cr_assert_eq(put("x", 1), 1);
	return c->tcp.asked_ticks != asked;
}

/* Does a write that does not follow another one. */
static bool asks_tcp_first(struct connection *c, uint64_t asked)
{
	c->pace.writes = 0;
	return asks_tcp(c, asked);
}

Test(fastpath, tcp_is_asked_before_a_send_now_and_then)
{
	_Atomic uint64_t instance_asked;
	struct connection *c;

	e = ends_make(1024, ENDS_HIGH);
	c = &e->c[0];
	cr_assert(asks_tcp_first(c, LONG_AGO));
	cr_assert_not(asks_tcp_first(c, LATELY));
	c->tcp.instance_asked = &instance_asked;
	atomic_store(&instance_asked, LATELY);
	cr_assert_not(asks_tcp_first(c, LONG_AGO), "an instance hears of it");
	atomic_store(&instance_asked, LONG_AGO);
	cr_assert(asks_tcp_first(c, LONG_AGO), "but nobody waits for that");
	cr_assert_not(asks_tcp_first(c, LATELY));
}

Test(fastpath, a_stream_looks_at_the_clock_now_and_then)
{
	struct connection *c;

	e = ends_make(1024, ENDS_HIGH);
	c = &e->c[0];
	for (unsigned i = 0; i < SENDS_A_STREAM; i++)
		cr_assert(asks_tcp(c, LONG_AGO));
	cr_assert_not(asks_tcp(c, LATELY));
	for (unsigned i = 1; i < SENDS_A_LOOK; i++)
		cr_assert_not(asks_tcp(c, LONG_AGO));
	cr_assert(asks_tcp(c, LONG_AGO));
	cr_assert(asks_tcp(c, LONG_AGO), "they took long: no stream");
	cr_assert_not(asks_tcp(c, LATELY));
	cr_assert_not(asks_tcp(c, LONG_AGO), "it is one again");
	c->pace.rang = true;
	cr_assert(asks_tcp(c, LONG_AGO), "the reader sleeps: no stream");
}

static void assert_no_receive(_Atomic uint32_t *word, uint32_t bit)
{
	char byte;

	cr_assert_eq(put("x", 1), 1);
	atomic_fetch_or(word, bit);
	cr_assert_eq(take(&byte, 1), 0, "bit %u", bit);
	atomic_fetch_and(word, ~bit);
	cr_assert_eq(take(&byte, 1), 1);
}

Test(fastpath, a_receive_leaves_everything_else_alone)
{
	struct connection *c;
	char byte;

	e = ends_make(1024, ENDS_HIGH);
	c = &e->c[1];
	assert_no_receive(&c->slot->rx.flags, STREAM_SHUT);
	assert_no_receive(&c->slot->rx.flags, STREAM_TCP);
	assert_no_receive(&c->slot->rx.flags, STREAM_FROZEN);
	assert_no_receive(&c->in_producer->flags, PRODUCER_FIN);
	assert_no_receive(&c->in_producer->flags, PRODUCER_SEALED);
	assert_no_receive(&c->slot->socket_flags, SOCKET_RCVLOWAT);
	assert_no_receive(&c->slot->socket_flags, SOCKET_GUARDED);
	assert_no_receive(&c->dead, 1);
	cr_assert_eq(put("x", 1), 1);
	cr_assert_eq(fastpath_receive(c, &byte, 1, MSG_PEEK | DONTWAIT), 0);
	cr_assert_eq(fastpath_receive(c, &byte, 1, MSG_WAITALL), 0);
	cr_assert_eq(fastpath_receive(c, &byte, 1, MSG_TRUNC), 0);
	cr_assert_eq(take(&byte, 0), 0);
	cr_assert_eq(take(NULL, 1), 0);
	cr_assert_eq(take(&byte, 1), 1);
	cr_assert_eq(take(&byte, 1), 0);
}

/* A cursor that cannot be true: told by the long way. */
Test(fastpath, a_hostile_cursor_gives_no_byte)
{
	char bytes[64];

	e = ends_make(1024, ENDS_HIGH);
	atomic_store(&e->element.side[0].producer.cursor, 1025);
	cr_assert_eq(take(bytes, sizeof(bytes)), 0);
	cr_assert(atomic_load(&e->slot[1].rx.flags) & STREAM_BROKEN);
	cr_assert_eq(ends_take(e, 1, bytes, sizeof(bytes)), -ECONNRESET);
}
