/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_stream: one SMC-R connection between rings and CDC messages. */
#include "smc_r/service/rc_stream.h"

#include <errno.h>
#include <string.h>

#define WRAPS 0x10000u /* of a cursor, until it begins again */

void rc_stream_init(struct rc_stream *s, uint32_t own_size, uint32_t peer_size,
		    uint32_t peer_token)
{
	memset(s, 0, sizeof(*s));
	s->own_size = own_size;
	s->peer_size = peer_size;
	s->peer_token = peer_token;
	close_init(&s->close, CLOSE_ACTIVE);
}

/* ---- positions and cursors ---- */

static struct cursor cursor_at(uint64_t position, uint32_t size)
{
	return (struct cursor){(uint16_t)(position / size),
			       (uint32_t)(position % size)};
}

/* The position of a cursor that is up to `most` bytes ahead of an old one, or
 * behind it, which leaves the old one. -EPROTO: it is neither. */
static int move(uint64_t *position, struct cursor c, uint32_t size,
		uint64_t most)
{
	uint64_t turns = (uint64_t)size * WRAPS;
	uint64_t ahead =
	    ((uint64_t)c.wrap * size + c.count - *position) & (turns - 1);

	if (c.count >= size || (ahead > most && ahead < turns / 2))
		return -EPROTO;
	if (ahead <= most)
		*position += ahead;
	return 0;
}

/* ---- sending ---- */

static uint32_t room_of(const struct rc_stream *s)
{
	return s->peer_size - (uint32_t)(s->posted - s->consumed);
}

/* One that has closed writes no more. */
static bool update_is_due(const struct rc_stream *s,
			  const struct rc_stream_view *v)
{
	const struct cursor_window w = {
	    .size = s->own_size,
	    .consumed = (uint32_t)(v->consumed - s->told),
	    .known_free = s->own_size - (uint32_t)(s->received - s->told),
	    .requested = s->update_owed,
	    .blocked = s->peer_flags & CDC_WRITE_BLOCKED,
	    .empty = v->consumed == s->received,
	};

	return !(s->close.received & (CDC_CLOSED | CDC_ABORTED)) &&
	       cursor_update_is_due(&w);
}

/* The bytes lie in one piece of the peer's RMBE, or in two. */
static void put_writes(struct rc_stream *s, uint32_t n,
		       struct rc_stream_post *out)
{
	while (n > 0) {
		struct rc_stream_write *w = &out->write[out->writes++];

		w->position = s->posted;
		w->offset = (uint32_t)(s->posted % s->peer_size);
		w->bytes = s->peer_size - w->offset;
		if (w->bytes > n)
			w->bytes = n;
		s->posted += w->bytes;
		n -= w->bytes;
	}
}

static void put_message(struct rc_stream *s, const struct rc_stream_view *v,
			bool blocked, struct cdc_message *m)
{
	struct rc_stream_cdc *cdc =
	    &s->cdc[(s->first + s->count++) % RC_STREAM_CDCS];

	*cdc = (struct rc_stream_cdc){++s->sequence, s->posted};
	s->told = v->consumed;
	s->update_owed = false;
	s->due = false;
	if (!s->flush)
		s->said = s->close.sent;
	*m = (struct cdc_message){
	    .sequence = s->sequence,
	    .token = s->peer_token,
	    .producer = cursor_at(s->posted, s->peer_size),
	    .consumer = cursor_at(s->told, s->own_size),
	    .producer_flags = blocked ? CDC_WRITE_BLOCKED : 0,
	    .state_flags = s->said,
	};
}

/* Behind a close of the peer nobody reads them, nor behind an abort of ours. */
static bool sends_bytes(const struct rc_stream *s)
{
	return !(s->close.received & (CDC_CLOSED | CDC_ABORTED)) &&
	       (s->flush || !(s->close.sent & CDC_ABORTED));
}

bool rc_stream_next(struct rc_stream *s, const struct rc_stream_view *v,
		    struct rc_stream_post *out)
{
	uint64_t ready = sends_bytes(s) ? v->written - s->posted : 0;
	uint32_t room = room_of(s);
	bool full = room == 0 || (ready > 0 && ready >= room);
	uint32_t n = ready < room ? (uint32_t)ready : room;

	out->writes = 0;
	if (s->count == RC_STREAM_CDCS || rc_stream_is_over(s))
		return false;
	if (s->flush && n == ready) {
		s->flush = false;
		s->due = true;
	}
	if (n == 0 && !s->due && !update_is_due(s, v))
		return false;
	put_writes(s, n, out);
	put_message(s, v, full, &out->message);
	return true;
}

void rc_stream_completed(struct rc_stream *s, uint16_t sequence)
{
	while (s->count > 0 &&
	       !cdc_is_older(sequence, s->cdc[s->first].sequence)) {
		s->completed = s->cdc[s->first].written;
		s->first = (s->first + 1) % RC_STREAM_CDCS;
		s->count--;
	}
}

/* ---- receiving ---- */

int rc_stream_receive(struct rc_stream *s, const struct cdc_message *m,
		      struct rc_stream_news *news)
{
	uint64_t received = s->received, consumed = s->consumed;
	uint8_t before = s->close.received;

	*news = (struct rc_stream_news){.bytes = false};
	if (cdc_is_older(m->sequence, s->peer_sequence))
		return 0;
	/* It says which message was the last before a link failed: one that we
	 * have not seen is lost. */
	if (m->producer_flags & CDC_FAILOVER)
		return m->sequence == s->peer_sequence ? 0 : -EPROTO;
	if (move(&received, m->producer, s->own_size,
		 s->told + s->own_size - s->received) < 0 ||
	    move(&consumed, m->consumer, s->peer_size,
		 s->posted - s->consumed) < 0)
		return -EPROTO;
	news->bytes = received != s->received;
	news->room = consumed != s->consumed;
	s->received = received;
	s->consumed = consumed;
	s->peer_sequence = m->sequence;
	s->peer_flags = m->producer_flags;
	if (m->producer_flags & CDC_UPDATE_REQUESTED)
		s->update_owed = true;
	close_peer(&s->close, m->state_flags);
	news->state = s->close.received != before;
	return 0;
}

/* ---- ends ---- */

static void act(struct rc_stream *s, const struct close_action *a)
{
	if (!a->send)
		return;
	/* What is flushed already waits for nothing more. */
	s->flush = a->flush || (s->flush && !(s->close.sent & CDC_ABORTED));
	s->due |= !s->flush;
}

int rc_stream_end(struct rc_stream *s, enum close_local what, bool unread)
{
	struct close_action a = close_local(&s->close, what, unread);

	act(s, &a);
	return a.error;
}

void rc_stream_abort(struct rc_stream *s)
{
	struct close_action a = close_abort(&s->close);

	act(s, &a);
}

void rc_stream_expire(struct rc_stream *s)
{
	close_expire(&s->close);
	s->flush = false;
	s->due = false;
	s->count = 0;
}

enum rc_stream_end rc_stream_peer(const struct rc_stream *s)
{
	if ((s->close.received | s->close.sent) & CDC_ABORTED)
		return RC_STREAM_RESET;
	if (s->close.received & CDC_CLOSED)
		return RC_STREAM_CLOSED;
	return s->close.received ? RC_STREAM_FIN : RC_STREAM_OPEN;
}

bool rc_stream_is_over(const struct rc_stream *s)
{
	return close_is_over(&s->close) && s->count == 0 && !s->due &&
	       !s->flush;
}
