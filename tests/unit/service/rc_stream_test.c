/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_stream: cursors, room, updates and ends of one SMC-R connection. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/protocol/cursor.h"
#include "smc_r/service/rc_stream.h"

#define SIZE  16384u
#define TOKEN 0x12345678u

static struct rc_stream one(void)
{
	struct rc_stream s;

	rc_stream_init(&s, SIZE, 2 * SIZE, TOKEN);
	return s;
}

static struct cdc_message from_peer(uint16_t sequence, uint64_t producer,
				    uint64_t consumer)
{
	return (struct cdc_message){
	    .sequence = sequence,
	    .producer = {(uint16_t)(producer / SIZE),
			 (uint32_t)(producer % SIZE)},
	    .consumer = {(uint16_t)(consumer / (2 * SIZE)),
			 (uint32_t)(consumer % (2 * SIZE))},
	};
}

/* ---- sending ---- */

Test(rc_stream, what_is_written_is_posted_with_a_message_behind_it)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 100};
	struct rc_stream_post p;

	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.writes, 1);
	cr_assert_eq(p.write[0].position, 0);
	cr_assert_eq(p.write[0].offset, 0);
	cr_assert_eq(p.write[0].bytes, 100);
	cr_assert_eq(p.message.sequence, 1);
	cr_assert_eq(p.message.token, TOKEN);
	cr_assert_eq(p.message.producer.count, 100);
	cr_assert_eq(p.message.producer_flags, 0);
	cr_assert_not(rc_stream_next(&s, &v, &p), "all is posted");
}

Test(rc_stream, a_full_ring_says_that_the_writer_is_blocked)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 2 * SIZE};
	struct rc_stream_post p;

	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.write[0].bytes, 2 * SIZE);
	cr_assert_eq(p.message.producer.wrap, 1);
	cr_assert_eq(p.message.producer.count, 0);
	cr_assert_eq(p.message.producer_flags, CDC_WRITE_BLOCKED);
	v.written += 10;
	cr_assert_not(rc_stream_next(&s, &v, &p), "there is no room");
}

Test(rc_stream, bytes_that_go_round_are_two_writes)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 2 * SIZE - 10};
	struct cdc_message m = from_peer(1, 0, 2 * SIZE - 10);
	struct rc_stream_news news;
	struct rc_stream_post p;

	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(rc_stream_receive(&s, &m, &news), 0);
	cr_assert(news.room);
	v.written += 30;
	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.writes, 2);
	cr_assert_eq(p.write[0].offset, 2 * SIZE - 10);
	cr_assert_eq(p.write[0].bytes, 10);
	cr_assert_eq(p.write[1].offset, 0);
	cr_assert_eq(p.write[1].position, 2 * SIZE);
	cr_assert_eq(p.write[1].bytes, 20);
}

Test(rc_stream, bytes_are_released_when_their_message_has_completed)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 100};
	struct cdc_message m = from_peer(1, 0, 100);
	struct rc_stream_news news;
	struct rc_stream_post p;

	rc_stream_next(&s, &v, &p);
	rc_stream_receive(&s, &m, &news);
	cr_assert_eq(rc_stream_released(&s), 0, "the RNIC may read them yet");
	rc_stream_completed(&s, 1);
	cr_assert_eq(rc_stream_released(&s), 100);
}

Test(rc_stream, few_messages_are_on_their_way_at_once)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 0};
	struct rc_stream_post p;

	for (unsigned i = 0; i < RC_STREAM_CDCS; i++) {
		v.written++;
		cr_assert(rc_stream_next(&s, &v, &p));
	}
	v.written += 5;
	cr_assert_not(rc_stream_next(&s, &v, &p));
	rc_stream_completed(&s, 1);
	cr_assert_eq(rc_stream_released(&s), 1);
	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.write[0].bytes, 5, "they went together");
}

/* ---- receiving ---- */

Test(rc_stream, the_peer_learns_our_cursor_when_it_asks_or_it_pays)
{
	struct {
		uint64_t received, consumed;
		uint8_t flags;
		bool due;
	} row[] = {
	    {100, 100, 0, false},
	    {100, 0, CDC_UPDATE_REQUESTED, true},
	    {100, 100, CDC_WRITE_BLOCKED, true},
	    {100, 99, CDC_WRITE_BLOCKED, false},
	    {SIZE, SIZE / 2, CDC_WRITE_BLOCKED, true},
	    {SIZE, SIZE / 2, 0, true},
	    {SIZE / 4, SIZE / 4, 0, false},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rc_stream s = one();
		struct rc_stream_view v = {.consumed = row[i].consumed};
		struct cdc_message m = from_peer(1, row[i].received, 0);
		struct rc_stream_news news;
		struct rc_stream_post p;

		m.producer_flags = row[i].flags;
		cr_assert_eq(rc_stream_receive(&s, &m, &news), 0);
		cr_assert(news.bytes);
		cr_assert_eq(rc_stream_next(&s, &v, &p), row[i].due, "row %zu",
			     i);
		cr_assert(!row[i].due ||
			  (p.writes == 0 &&
			   p.message.consumer.count == row[i].consumed % SIZE));
		cr_assert_not(rc_stream_next(&s, &v, &p), "row %zu: once", i);
	}
}

Test(rc_stream, cursors_that_cannot_be_change_nothing)
{
	struct {
		struct cdc_message m;
		int result;
	} row[] = {
	    {from_peer(1, SIZE + 1, 0), -EPROTO}, /* beyond our room */
	    {from_peer(1, 0, 101), -EPROTO},      /* not sent yet */
	    {{.sequence = 1, .producer = {0, SIZE}}, -EPROTO},
	    {{.sequence = 1, .consumer = {0, 2 * SIZE}}, -EPROTO},
	    {{.sequence = 1, .producer = {0x7000, 0}}, -EPROTO},
	    {{.sequence = 1, .producer = {0xffff, 10}}, 0}, /* behind */
	    {{.sequence = 5, .producer_flags = CDC_FAILOVER}, -EPROTO},
	    {{.sequence = 0, .producer_flags = CDC_FAILOVER}, 0},
	    {from_peer(0xffff, 50, 50), 0}, /* overtaken */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rc_stream s = one();
		struct rc_stream_view v = {.written = 100};
		struct rc_stream_news news;
		struct rc_stream_post p;

		rc_stream_next(&s, &v, &p);
		cr_assert_eq(rc_stream_receive(&s, &row[i].m, &news),
			     row[i].result, "row %zu", i);
		cr_assert(!news.bytes && !news.room && s.received == 0 &&
			      s.consumed == 0,
			  "row %zu", i);
	}
}

/* ---- ends ---- */

Test(rc_stream, an_end_goes_behind_all_bytes)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 2 * SIZE + 10};
	struct cdc_message m = from_peer(1, 0, 2 * SIZE);
	struct rc_stream_news news;
	struct rc_stream_post p;

	cr_assert_eq(rc_stream_end(&s, CLOSE_SHUTDOWN_WRITE, false), 0);
	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.message.state_flags, 0);
	cr_assert_eq(rc_stream_end(&s, CLOSE_RELEASE, false), 0);
	rc_stream_receive(&s, &m, &news);
	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.message.state_flags, CDC_SENDING_DONE | CDC_CLOSED);
	cr_assert_eq(p.write[0].bytes, 10);
	cr_assert_not(rc_stream_is_over(&s));
	rc_stream_completed(&s, 2);
	m = from_peer(2, 0, 2 * SIZE + 10);
	m.state_flags = CDC_CLOSED;
	rc_stream_receive(&s, &m, &news);
	cr_assert(news.state);
	cr_assert(rc_stream_is_over(&s));
}

Test(rc_stream, what_the_program_is_told_of_its_peer)
{
	struct {
		uint8_t flags;
		enum rc_stream_end told;
	} row[] = {
	    {0, RC_STREAM_OPEN},
	    {CDC_SENDING_DONE, RC_STREAM_FIN},
	    {CDC_CLOSED, RC_STREAM_CLOSED},
	    {CDC_CLOSED | CDC_SENDING_DONE, RC_STREAM_CLOSED},
	    {CDC_ABORTED, RC_STREAM_RESET},
	    {CDC_ABORTED | CDC_SENDING_DONE, RC_STREAM_RESET},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rc_stream s = one();
		struct cdc_message m = from_peer(1, 0, 0);
		struct rc_stream_news news;

		m.state_flags = row[i].flags;
		cr_assert_eq(rc_stream_receive(&s, &m, &news), 0);
		cr_assert_eq(rc_stream_peer(&s), row[i].told, "row %zu", i);
	}
}

Test(rc_stream, unread_bytes_make_an_abort)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 10};
	struct rc_stream_post p;

	rc_stream_end(&s, CLOSE_RELEASE, true);
	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.message.state_flags, CDC_ABORTED);
	cr_assert_eq(p.writes, 0, "what the program wrote is lost");
	v.written += 10;
	cr_assert_not(rc_stream_next(&s, &v, &p));
	cr_assert_not(rc_stream_is_over(&s));
	rc_stream_expire(&s);
	cr_assert(rc_stream_is_over(&s));
}

Test(rc_stream, nothing_is_posted_behind_the_end)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 10};
	struct rc_stream_post p;

	rc_stream_next(&s, &v, &p);
	rc_stream_expire(&s);
	v.written += 10;
	cr_assert_not(rc_stream_next(&s, &v, &p));
	cr_assert(rc_stream_is_over(&s));
}

Test(rc_stream, a_full_ring_is_told_with_each_message)
{
	struct rc_stream s = one();
	struct rc_stream_view v = {.written = 2 * SIZE};
	struct cdc_message m = from_peer(1, 100, 0);
	struct rc_stream_news news;
	struct rc_stream_post p;

	rc_stream_next(&s, &v, &p);
	m.producer_flags = CDC_UPDATE_REQUESTED;
	rc_stream_receive(&s, &m, &news);
	cr_assert(rc_stream_next(&s, &v, &p));
	cr_assert_eq(p.message.producer_flags, CDC_WRITE_BLOCKED);
}

/* ---- what two ends of Linux said to each other ---- */

#define B CDC_WRITE_BLOCKED
#define D CDC_SENDING_DONE
#define C CDC_CLOSED
#define A CDC_ABORTED

struct said {
	int end;           /* 0: server, 1: client */
	uint16_t sequence; /* 0: the conversation is over */
	struct cursor producer, consumer;
	uint8_t producer_flags, state_flags;
};

static const struct said v1_wrap[] = {
    {1, 1, {0, 24}, {0, 0}, 0, 0},       {0, 1, {1, 0}, {0, 24}, B, 0},
    {1, 2, {0, 24}, {1, 0}, 0, 0},       {0, 2, {2, 0}, {0, 24}, B, 0},
    {1, 3, {1, 24}, {1, 0}, B, 0},       {1, 4, {1, 24}, {2, 0}, B, 0},
    {0, 3, {2, 0}, {1, 24}, B, 0},       {0, 4, {3, 0}, {1, 24}, B, 0},
    {1, 5, {2, 24}, {2, 0}, B, 0},       {1, 6, {2, 24}, {3, 0}, B, 0},
    {0, 5, {4, 0}, {1, 24}, B, 0},       {0, 6, {4, 0}, {2, 24}, B, 0},
    {1, 7, {3, 24}, {3, 0}, B, 0},       {1, 8, {3, 24}, {4, 0}, B, 0},
    {0, 7, {5, 0}, {2, 24}, B, 0},       {0, 8, {5, 0}, {3, 24}, B, 0},
    {1, 9, {4, 24}, {4, 0}, B, 0},       {0, 9, {5, 0}, {4, 24}, B, 0},
    {1, 10, {4, 24}, {5, 0}, B, 0},      {1, 11, {5, 24}, {5, 0}, B, 0},
    {0, 10, {6, 0}, {4, 24}, B, 0},      {0, 11, {6, 0}, {5, 24}, B, 0},
    {1, 12, {6, 24}, {5, 0}, B, 0},      {1, 13, {6, 24}, {6, 0}, B, 0},
    {0, 12, {6, 1696}, {5, 24}, 0, 0},   {0, 13, {6, 1696}, {6, 24}, 0, 0},
    {1, 14, {6, 1720}, {6, 0}, 0, 0},    {1, 15, {6, 1720}, {6, 1696}, 0, C},
    {0, 14, {6, 1696}, {6, 1720}, 0, C}, {0},
};

static const struct said v2_half[] = {
    {1, 1, {0, 24}, {0, 0}, 0, 0},
    {1, 2, {0, 10024}, {0, 0}, 0, 0},
    {1, 3, {0, 10024}, {0, 0}, 0, D},
    {0, 1, {0, 10000}, {0, 10024}, 0, 0},
    {0, 2, {0, 10000}, {0, 10024}, 0, C},
    {1, 4, {0, 10024}, {0, 10000}, 0, D | C},
    {0},
};

static const struct said v1_abort[] = {
    {1, 1, {0, 24}, {0, 0}, 0, 0},
    {0, 1, {0, 10000}, {0, 24}, 0, 0},
    {1, 2, {0, 24}, {0, 0}, 0, A},
    {0, 2, {0, 10000}, {0, 24}, 0, A},
    {0},
};

/* It says the same when its program has done the same. */
static void say(struct rc_stream *s, struct rc_stream_view *v,
		const struct said *m, uint32_t size)
{
	uint8_t fresh = m->state_flags & ~s->close.sent;
	struct rc_stream_post p;

	v->written = (uint64_t)m->producer.wrap * size + m->producer.count;
	v->consumed = (uint64_t)m->consumer.wrap * size + m->consumer.count;
	if (fresh & D)
		rc_stream_end(s, CLOSE_SHUTDOWN_WRITE, false);
	if (fresh & (C | A))
		rc_stream_end(s, CLOSE_RELEASE, fresh & A);
	cr_assert(rc_stream_next(s, v, &p), "message %u of end %d", m->sequence,
		  m->end);
	cr_assert_eq(p.message.sequence, m->sequence);
	cr_assert(cursor_is_equal(p.message.producer, m->producer));
	cr_assert(cursor_is_equal(p.message.consumer, m->consumer));
	/* Linux repeats the flag with messages that follow no bytes. */
	cr_assert(p.writes == 0 ||
		      p.message.producer_flags == m->producer_flags,
		  "message %u of end %d", m->sequence, m->end);
	cr_assert_eq(p.message.state_flags, m->state_flags,
		     "message %u of end %d: %x", m->sequence, m->end,
		     p.message.state_flags);
	rc_stream_completed(s, p.message.sequence);
}

static void hear(struct rc_stream *s, const struct said *m)
{
	struct cdc_message c = {.sequence = m->sequence,
				.producer = m->producer,
				.consumer = m->consumer,
				.producer_flags = m->producer_flags,
				.state_flags = m->state_flags};
	struct rc_stream_news news;

	cr_assert_eq(rc_stream_receive(s, &c, &news), 0, "message %u of end %d",
		     m->sequence, m->end);
}

/* Either end is ours, in turn. */
static void replay(const struct said *all, uint32_t size)
{
	for (int own = 0; own < 2; own++) {
		struct rc_stream_view v = {.written = 0};
		struct rc_stream s;

		rc_stream_init(&s, size, size, TOKEN);
		for (const struct said *m = all; m->sequence; m++) {
			if (m->end == own)
				say(&s, &v, m, size);
			else
				hear(&s, m);
		}
		cr_assert(rc_stream_is_over(&s), "end %d", own);
	}
}

Test(rc_stream, a_conversation_of_linux_through_small_rings)
{
	replay(v1_wrap, 16384);
}

Test(rc_stream, a_half_close_of_linux)
{
	replay(v2_half, 65536);
}

Test(rc_stream, an_abort_of_linux)
{
	replay(v1_abort, 65536);
}

#undef A
#undef B
#undef C
#undef D

/* ---- two of them, over a wire that keeps the order ---- */

#define QUEUE 64u

struct flight {
	struct rc_stream_post post;
	uint8_t *bytes[2];
};

struct end {
	struct rc_stream s;
	struct rc_stream_view v;
	uint64_t base; /* positions begin there: cursors wrap soon */
	uint8_t *rmbe; /* the peer writes to it */
	uint32_t near; /* bytes of the program's ring */
	uint64_t write_most;
	bool ends, ended;
	struct flight wire[QUEUE]; /* to the peer */
	uint32_t first, count;
	uint16_t done[QUEUE]; /* completions that are late */
	uint32_t done_first, done_count;
};

static uint32_t game_state;
static uint32_t roll(uint32_t n)
{
	game_state = game_state * 1664525u + 1013904223u;
	return (game_state >> 8) % n;
}

static uint8_t byte_at(int side, uint64_t position)
{
	uint64_t x = (position + 1) * 0x9e3779b97f4a7c15u + (uint64_t)side;

	return (uint8_t)(x >> 56);
}

static void pump(struct end *e, int side)
{
	struct flight *f = &e->wire[(e->first + e->count) % QUEUE];

	if (e->count == QUEUE || !rc_stream_next(&e->s, &e->v, &f->post))
		return;
	cr_assert_leq(f->post.writes, 2);
	for (unsigned i = 0; i < f->post.writes; i++) {
		struct rc_stream_write *w = &f->post.write[i];

		cr_assert_leq(w->offset + w->bytes, e->s.peer_size);
		cr_assert_geq(w->position, rc_stream_released(&e->s));
		cr_assert_leq(w->position + w->bytes, e->v.written);
		f->bytes[i] = malloc(w->bytes);
		for (uint32_t k = 0; k < w->bytes; k++)
			f->bytes[i][k] = byte_at(side, w->position + k);
	}
	e->count++;
}

static void deliver(struct end *from, struct end *to)
{
	struct flight *f = &from->wire[from->first];
	struct rc_stream_news news;
	uint8_t raw[CDC_BYTES];
	struct cdc_message m;

	if (from->count == 0)
		return;
	from->first = (from->first + 1) % QUEUE;
	from->count--;
	for (unsigned i = 0; i < f->post.writes; i++) {
		memcpy(to->rmbe + f->post.write[i].offset, f->bytes[i],
		       f->post.write[i].bytes);
		free(f->bytes[i]);
	}
	cdc_encode(&f->post.message, raw);
	cr_assert_eq(cdc_decode(&m, raw, sizeof(raw)), 0);
	cr_assert_eq(rc_stream_receive(&to->s, &m, &news), 0);
	from->done[(from->done_first + from->done_count++) % QUEUE] =
	    m.sequence;
}

static void complete(struct end *e)
{
	if (e->done_count == 0)
		return;
	rc_stream_completed(&e->s, e->done[e->done_first]);
	e->done_first = (e->done_first + 1) % QUEUE;
	e->done_count--;
}

/* The program reads, and finds what the other one wrote. */
static void consume(struct end *e, int other, uint32_t most)
{
	while (most-- > 0 && e->v.consumed < e->s.received) {
		cr_assert_eq(e->rmbe[e->v.consumed % e->s.own_size],
			     byte_at(other, e->v.consumed), "a wrong byte");
		e->v.consumed++;
	}
}

static void produce(struct end *e, uint32_t most)
{
	uint64_t room = e->near - (e->v.written - rc_stream_released(&e->s));

	if (e->ended)
		return;
	if (most > room)
		most = (uint32_t)room;
	if (most > e->write_most)
		most = (uint32_t)e->write_most;
	e->v.written += most;
	e->write_most -= most;
	if (e->write_most == 0 && e->ends) {
		e->ended = true;
		rc_stream_end(&e->s, CLOSE_SHUTDOWN_WRITE, false);
	}
}

static void set_out(struct end *e, uint32_t own, uint32_t peer, uint64_t base,
		    uint64_t peer_base)
{
	memset(e, 0, sizeof(*e));
	rc_stream_init(&e->s, own, peer, 1);
	e->rmbe = malloc(own);
	e->near = SIZE << roll(5);
	e->write_most = roll(400000);
	e->ends = true;
	e->s.posted = e->s.completed = e->s.consumed = base;
	e->s.received = e->s.told = peer_base;
	e->v.written = base;
	e->v.consumed = peer_base;
}

static bool has_all(const struct end *e, const struct end *other)
{
	return e->v.consumed == other->v.written && other->ended;
}

static void play(uint32_t seed)
{
	static struct end e[2];
	uint32_t size[2];
	uint64_t base[2];
	int turns;

	game_state = seed;
	for (int i = 0; i < 2; i++)
		size[i] = SIZE << roll(5);
	/* The cursors' turns go over 65535 soon. */
	for (int i = 0; i < 2; i++)
		base[i] = roll(2) ? 0 : 65534ull * size[!i] + roll(size[!i]);
	for (int i = 0; i < 2; i++)
		set_out(&e[i], size[i], size[!i], base[i], base[!i]);
	for (turns = 0; turns < 200000; turns++) {
		int side = (int)roll(2);
		struct end *own = &e[side], *peer = &e[!side];

		switch (roll(6)) {
		case 0:
			produce(own, roll(4) ? roll(1000) : roll(300000));
			break;
		case 1:
			consume(own, !side, roll(4) ? roll(3000) : 300000);
			break;
		case 2:
		case 3:
			pump(own, side);
			break;
		case 4:
			deliver(own, peer);
			break;
		default:
			complete(own);
			break;
		}
		if (has_all(own, peer) && own->ended && !own->s.close.released)
			rc_stream_end(&own->s, CLOSE_RELEASE, false);
		if (rc_stream_is_over(&e[0].s) && rc_stream_is_over(&e[1].s))
			break;
	}
	cr_assert(rc_stream_is_over(&e[0].s) && rc_stream_is_over(&e[1].s),
		  "seed %u: no end", seed);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(e[i].v.consumed, e[!i].v.written, "seed %u", seed);
		cr_assert_eq(rc_stream_peer(&e[i].s), RC_STREAM_CLOSED);
		free(e[i].rmbe);
	}
}

Test(rc_stream, two_ends_get_all_bytes_across_and_close, .timeout = 60)
{
	for (uint32_t seed = 1; seed <= 200; seed++)
		play(seed);
}
