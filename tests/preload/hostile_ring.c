/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile_ring: attacks over the shared memory, of either side, after a
 * handshake as it should be.
 */
#include "hostile.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "smc_r/memory/bell.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/ends.h"

#define LENGTH_MS 400

static void begin(struct line *l, uint16_t port)
{
	if (l->server)
		line_accept(l, port);
	else
		line_connect(l, port, 0);
	line_handshake(l);
}

/* A client has shown that the ring works; a server has read the words. */
static void begin_talk(struct line *l, uint16_t port)
{
	char words[64];

	begin(l, port);
	if (l->server)
		line_get(l, words, sizeof("there and back"));
	else
		line_ring_echo(l);
}

static bool goes_on(uint64_t *end_ns)
{
	if (*end_ns == 0)
		*end_ns = sys_now_ns() + LENGTH_MS * 1000000ull;
	return sys_now_ns() < *end_ns;
}

static struct rmb_producer *own_producer(struct line *l)
{
	return &l->e->side[l->side].producer;
}

static struct rmb_consumer *own_consumer(struct line *l)
{
	return &l->e->side[l->side].consumer;
}

/* ---- beside the ring ---- */

static void data_on_tcp(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	line_send(l, "RAW!RAW!RAW!", 12);
	line_ring_bells(l);
	line_sleep(300);
	if (!l->server)
		line_ring_echo(l);
	line_sleep(700);
}

/* ---- cursors ---- */

static void cursor_huge(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_fetch_add(&own_producer(l)->cursor, 1u << 30);
	line_ring_bells(l);
	/* The stream is broken; the reader is told so and gives it up. */
	line_must_end(l);
}

static void cursor_huge_without_a_bell(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_fetch_add(&own_producer(l)->cursor, 1u << 30);
	line_sleep(1000);
}

static void cursor_one_too_many(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_fetch_add(&own_producer(l)->cursor, l->size + 1);
	line_ring_bells(l);
	line_must_end(l);
}

static void cursor_backwards(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	for (int i = 0; i < 10; i++) {
		atomic_store(&own_producer(l)->cursor, (uint64_t)i);
		line_ring_bells(l);
		line_sleep(5);
	}
	atomic_store(&own_producer(l)->cursor, l->written);
	if (!l->server)
		line_ring_echo(l);
}

static uint64_t any_cursor(uint64_t near, uint32_t size)
{
	uint64_t r = line_random();

	switch (r % 5) {
	case 0:
		return near - r % size;
	case 1:
		return r << 32 | line_random();
	case 2:
		return UINT64_MAX - r % 100;
	default:
		return near + r % size;
	}
}

static void cursors_at_random(struct line *l, uint16_t port)
{
	uint64_t end = 0;

	begin_talk(l, port);
	while (goes_on(&end)) {
		atomic_store(&own_producer(l)->cursor,
			     any_cursor(l->written, l->size));
		atomic_store(
		    &own_consumer(l)->cursor,
		    any_cursor(
			atomic_load(&l->e->side[!l->side].producer.cursor) -
			    l->size,
			l->size));
		line_ring_bells(l);
	}
}

/* It may believe that all was read; it must not write beyond the ring. */
static void consumer_runs_ahead(struct line *l, uint16_t port)
{
	static const char words[4096];
	uint64_t end = 0;

	begin_talk(l, port);
	while (goes_on(&end)) {
		atomic_store(&own_consumer(l)->cursor, UINT64_MAX / 2);
		memcpy(l->out + (l->written & (l->size - 1) & ~4095u), words,
		       sizeof(words));
		l->written += sizeof(words);
		atomic_store(&own_producer(l)->cursor, l->written);
		line_ring_bells(l);
		line_sleep(1);
	}
}

/* Where its bytes lie is the peer's to say, and so its own harm. */
static void shift_at_random(struct line *l, uint16_t port)
{
	uint64_t end = 0;
	uint32_t shift = 1;

	begin_talk(l, port);
	while (goes_on(&end)) {
		shift = shift * 1664525u + 1013904223u;
		atomic_store(&own_producer(l)->shift, shift);
		if (l->written - l->e->side[!l->side].consumer.cursor <
		    l->size / 2)
			l->written += 777;
		atomic_store(&own_producer(l)->cursor, l->written);
		line_ring_bells(l);
		line_sleep(1);
	}
}

static void consumer_goes_back(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	for (int i = 0; i < 20; i++) {
		atomic_store(&own_consumer(l)->cursor, (uint64_t)i % 3);
		line_ring_bells(l);
		line_sleep(5);
	}
	atomic_store(&own_consumer(l)->cursor, l->read);
	if (!l->server)
		line_ring_echo(l);
}

/* ---- flags ---- */

static void flags_at_random(struct line *l, uint16_t port)
{
	uint64_t end = 0;

	begin_talk(l, port);
	while (goes_on(&end)) {
		atomic_store(&own_producer(l)->flags, line_random());
		atomic_store(&own_consumer(l)->flags, line_random());
		line_ring_bells(l);
		line_sleep(1);
	}
}

static void with_flags(struct line *l, uint16_t port, uint32_t producer,
		       uint32_t consumer)
{
	begin_talk(l, port);
	atomic_fetch_or(&own_producer(l)->flags, producer);
	atomic_fetch_or(&own_consumer(l)->flags, consumer);
	line_ring_bells(l);
	line_sleep(1000);
}

static void fin_and_more(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_fetch_or(&own_producer(l)->flags, PRODUCER_FIN);
	line_put(l, "after the end", 13);
	line_sleep(LENGTH_MS);
}

static void sealed_without_tcp(struct line *l, uint16_t port)
{
	with_flags(l, port, PRODUCER_SEALED, 0);
}

static void closed_without_fin(struct line *l, uint16_t port)
{
	with_flags(l, port, PRODUCER_CLOSED, 0);
}

static void flags_that_there_are_not(struct line *l, uint16_t port)
{
	with_flags(l, port, 0xfffffff8, 0xfffffffc);
}

/* This is allowed: the end seals, and the rest comes by TCP. */
static void asks_for_tcp(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_fetch_or(&own_consumer(l)->flags, CONSUMER_DEMOTE);
	line_ring_bells(l);
	line_sleep(LENGTH_MS);
}

static void freezes_at_any_place(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_store(&own_consumer(l)->cursor, UINT64_MAX - 5);
	atomic_fetch_or(&own_consumer(l)->flags,
			CONSUMER_FROZEN | CONSUMER_DEMOTE);
	line_ring_bells(l);
	line_sleep(LENGTH_MS);
}

/* All of a full ring is to come by TCP, which nobody reads. */
static void freezes_and_is_deaf(struct line *l, uint16_t port)
{
	static char words[4096];

	if (l->server)
		line_end(0, "an attack of clients");
	line_connect(l, port, 1);
	line_handshake(l);
	memset(words, 'w', sizeof(words));
	for (uint32_t i = 0; i < l->size / sizeof(words); i++)
		line_put(l, words, sizeof(words));
	line_sleep(300);
	atomic_fetch_or(&own_consumer(l)->flags,
			CONSUMER_FROZEN | CONSUMER_DEMOTE);
	line_ring_bells(l);
	line_sleep(3000);
}

/* ---- everything else in the memory ---- */

static void control_at_random(struct line *l, uint16_t port)
{
	uint32_t words;
	_Atomic uint32_t *base;
	uint64_t end = 0;

	begin_talk(l, port);
	base = (_Atomic uint32_t *)(void *)l->rmb->map.base;
	words = (uint32_t)(rmb_ring(&l->rmb->map, 0, 0) - l->rmb->map.base) / 4;
	while (goes_on(&end)) {
		for (int i = 0; i < 64; i++)
			atomic_store(&base[line_random() % words],
				     line_random());
		line_ring_bells(l);
	}
}

static void epochs_at_random(struct line *l, uint16_t port)
{
	uint64_t end = 0;

	begin_talk(l, port);
	while (goes_on(&end)) {
		atomic_store(&l->e->epoch, line_random());
		atomic_store(&l->e->released, atomic_load(&l->e->epoch));
		line_sleep(1);
	}
}

static void retired(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	atomic_store(&rmb_header(&l->rmb->map)->retired, 1);
	if (!l->server)
		line_ring_echo(l);
	line_sleep(100);
}

/* Pages that are gone read as zeros. */
static void holes(struct line *l, uint16_t port)
{
	uint64_t end = 0;

	begin_talk(l, port);
	while (goes_on(&end)) {
		madvise(l->rmb->map.base, l->rmb->map.bytes, MADV_REMOVE);
		line_ring_bells(l);
		line_sleep(5);
	}
}

/* ---- bells ---- */

static void flood_of_rings(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	for (int i = 0; i < 50000; i++)
		line_ring_bells(l);
	if (!l->server)
		line_ring_echo(l);
}

static void bells_gone(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	bells_close(&l->rmb->bells[l->element]);
	line_sleep(1500);
	/* TCP still stands, and the cursors too. */
	if (!l->server)
		line_ring_echo(l);
}

static void armed_for_ever(struct line *l, uint16_t port)
{
	uint64_t end = 0;

	begin_talk(l, port);
	while (goes_on(&end)) {
		atomic_store(&l->e->side[l->side].wait.armed_data, 1);
		atomic_store(&l->e->side[l->side].wait.armed_room, 1);
		atomic_store(&l->e->side[l->side].wait.waiter, line_random());
		if (!l->server)
			line_ring_echo(l);
		line_sleep(1);
	}
}

/* ---- deaf, or gone ---- */

static void never_reads(struct line *l, uint16_t port)
{
	static char words[65536];

	begin_talk(l, port);
	memset(words, 'w', sizeof(words));
	if (!l->server)
		for (uint32_t i = 0; i < l->size / sizeof(words); i++)
			line_put(l, words, sizeof(words));
	line_sleep(800);
}

static void killed_in_the_middle(struct line *l, uint16_t port)
{
	static char words[65536];

	begin_talk(l, port);
	memset(words, 'w', sizeof(words));
	line_put(l, words, l->size / 2 < 65536 ? l->size / 2 : 65536);
	raise(SIGKILL);
}

static void reset_with_bytes_unread(struct line *l, uint16_t port)
{
	begin_talk(l, port);
	line_put(l, "not waited for", 14);
	line_reset(l);
}

const struct attack ring_attacks[] = {
    A(data_on_tcp),
    A(cursor_huge),
    A(cursor_huge_without_a_bell),
    A(cursor_one_too_many),
    A(cursor_backwards),
    A(cursors_at_random),
    A(consumer_runs_ahead),
    A(shift_at_random),
    A(consumer_goes_back),
    A(flags_at_random),
    A(fin_and_more),
    A(sealed_without_tcp),
    A(closed_without_fin),
    A(flags_that_there_are_not),
    A(asks_for_tcp),
    A(freezes_at_any_place),
    A(freezes_and_is_deaf),
    A(control_at_random),
    A(epochs_at_random),
    A(retired),
    A(holes),
    A(flood_of_rings),
    A(bells_gone),
    A(armed_for_ever),
    A(never_reads),
    A(killed_in_the_middle),
    A(reset_with_bytes_unread),
    {NULL, NULL},
};
