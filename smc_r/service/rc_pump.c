/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_pump: between an element and a link. */
#include "smc_r/service/rc_pump.h"

#include <errno.h>
#include <string.h>

#define UNAWAITED_PART 4 /* divides the program's ring */

void rc_pump_init(struct rc_pump *p, struct rmb *rmb, uint32_t element)
{
	memset(p, 0, sizeof(*p));
	p->near.slot = &p->slot;
	connection_attach(&p->near, rmb, element, SIDE_SERVER);
	/* The RNIC reads one ring, and no other. */
	atomic_store(&p->near.in_consumer->overflow, 0);
}

/* A step back is an interrupted call's last word. */
static int see(uint64_t *position, const _Atomic uint64_t *shared,
	       uint64_t most)
{
	uint64_t cursor = atomic_load_explicit(shared, memory_order_acquire);

	if (cursor <= *position)
		return 0;
	if (cursor > most)
		return -EPROTO;
	*position = cursor;
	return 0;
}

static int look(struct rc_pump *p)
{
	struct connection *c = &p->near;

	/* An abort goes out whatever the program says. */
	if (rc_stream_peer(&p->stream) == RC_STREAM_RESET)
		return 0;
	if (see(&p->view.written, &c->in_producer->cursor,
		rc_stream_released(&p->stream) + c->in.ring[0].bytes) < 0)
		return -EPROTO;
	return see(&p->view.consumed, &c->out_consumer->cursor,
		   p->stream.received);
}

/* Bytes in two pieces lie around the end of the program's ring. */
static struct rc_write gather(const struct rc_pump *p,
			      const struct rc_stream_write *from)
{
	struct rc_write w = {.lkey = p->lkey,
			     .rkey = p->rkey,
			     .remote = p->remote + from->offset};
	uint64_t at = from->position;
	uint32_t left = from->bytes;

	while (left > 0 && w.pieces < RC_WRITE_PIECES) {
		size_t n = left;

		w.piece[w.pieces].at =
		    rings_piece(&p->near.in, p->near.in_producer, at, &n);
		w.piece[w.pieces++].bytes = (uint32_t)n;
		at += n;
		left -= (uint32_t)n;
	}
	return w;
}

static void count(struct far_counts *counts, const struct rc_stream_post *post)
{
	counts->cdc_sent++;
	counts->writes += post->writes;
	for (unsigned i = 0; i < post->writes; i++)
		counts->bytes_sent += post->write[i].bytes;
}

/* An end waits for its last message, and a program for room: the rest of them
 * may complete while the service sleeps. */
static bool is_awaited(const struct rc_pump *p,
		       const struct rc_stream_post *last)
{
	const struct rc_stream *s = &p->stream;

	return last->message.state_flags || s->count == RC_STREAM_CDCS ||
	       s->posted - s->completed >
		   p->near.in.ring[0].bytes / UNAWAITED_PART;
}

static int post(struct rc_pump *p, const struct rc_stream_post *from,
		uint64_t tag)
{
	struct rc_write writes[RC_LINK_WRITES];
	uint8_t message[CDC_BYTES];
	int error;

	for (unsigned i = 0; i < from->writes; i++)
		writes[i] = gather(p, &from->write[i]);
	cdc_encode(&from->message, message);
	error = rc_link_post(p->link, writes, from->writes, message, CDC_BYTES,
			     tag | from->message.sequence);
	if (error)
		return error;
	count(&p->link->counts, from);
	if (is_awaited(p, from))
		rc_link_await(p->link);
	return 0;
}

int rc_pump_send(struct rc_pump *p, uint64_t tag)
{
	struct rc_stream_post next;
	int chains = 0;
	int error = look(p);

	while (!error && p->link->free_slots &&
	       rc_stream_next(&p->stream, &p->view, &next)) {
		error = post(p, &next, tag);
		chains++;
	}
	return error ? error : chains;
}

int rc_pump_receive(struct rc_pump *p, const struct cdc_message *m)
{
	struct connection *c = &p->near;
	struct rc_stream_news news;
	int error = rc_stream_receive(&p->stream, m, &news);

	if (error)
		return error;
	if (!news.bytes)
		return 0;
	/* The program takes that for room in its ring. */
	relaxed_store(&c->out_producer->heard, rc_stream_released(&p->stream));
	atomic_store(&c->out_producer->cursor, p->stream.received);
	connection_signal_data(c);
	return 0;
}

void rc_pump_completed(struct rc_pump *p, uint16_t sequence)
{
	rc_stream_completed(&p->stream, sequence);
	atomic_store(&p->near.in_consumer->cursor,
		     rc_stream_released(&p->stream));
	connection_signal_room(&p->near);
}

bool rc_pump_arm(struct rc_pump *p)
{
	atomic_store(&p->near.own_wait->armed_data, RMB_ARMED);
	atomic_store(&p->near.own_wait->armed_room, RMB_ARMED);
	return connection_settle(&p->near);
}

void rc_pump_disarm(struct rc_pump *p)
{
	atomic_store(&p->near.own_wait->armed_data, 0);
	atomic_store(&p->near.own_wait->armed_room, 0);
}
