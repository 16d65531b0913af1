/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stream_put: bytes into the ring that we write. */
#include <errno.h>

#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/ring_memory.h"
#include "smc_r/stream/stream.h"
#include "smc_r/stream/stream_place.h"
#include "smc_r/stream/stream_steps.h"

/* A conversation looks so often whether the ring is empty. */
#define REWIND_BYTES        1024u
/* Writes that say since when there are bytes; later ones do now and then, by
 * sys_ticks. */
#define SINCE_WRITES        16
#define SINCE_TICKS         65536u
/* Then a writer that went to the overflow ring looks whether its reader is
 * quick. */
#define OVERFLOW_STAY_BYTES 268435456u
/* So much TCP takes at a time, as a whole. */
#define CHECK_BYTES         32768u

/* ---- where the bytes go ---- */

/* The ring that is not in use has been left by the reader as well. */
static bool other_is_empty(const struct connection *c)
{
	return c->slot->tx.peer_position >=
	       relaxed_load(&c->out_producer->switched);
}

/* From `position` on, at the other ring's beginning. A handler's bytes that
 * come before it does no harm: the reader has one shift for both then. */
static uint32_t change_rings(struct connection *c, uint64_t position,
			     uint32_t shift)
{
	struct rmb_producer *out = c->out_producer;

	relaxed_store(&out->before, shift);
	atomic_store_explicit(&out->switched, position, memory_order_release);
	return ((shift & RINGS_OVERFLOW) ^ RINGS_OVERFLOW) |
	       ((uint32_t)position & RINGS_SHIFT);
}

bool stream_enter_overflow(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t position = atomic_load(&tx->position);
	uint64_t window = atomic_load(&tx->window);
	uint32_t shift = window_shift(window);

	refresh_out(c, position);
	if (shift & RINGS_OVERFLOW || !other_is_empty(c) ||
	    shown(c, window, position) > 0)
		return false;
	c->out_memory.return_at = position + OVERFLOW_STAY_BYTES;
	return stream_swap(
	    &tx->window, window,
	    window_make(change_rings(c, position, shift), position));
}

/* Does the writer go back to the RMBE? */
static uint32_t leave_overflow(struct connection *c, uint64_t position,
			       uint32_t shift)
{
	if (position < c->out_memory.return_at)
		return shift;
	refresh_out(c, position);
	if (!other_is_empty(c) ||
	    position - c->slot->tx.peer_position > c->out.ring[0].bytes / 2)
		return shift;
	return change_rings(c, position, shift);
}

static uint32_t rewind_ring(const struct connection *c, uint64_t position,
			    uint32_t shift, size_t want)
{
	if (__builtin_expect(shift & RINGS_OVERFLOW, 0) &&
	    position < c->out_memory.return_at)
		return RINGS_OVERFLOW | ((uint32_t)position & RINGS_SHIFT);
	return rewound(c, position, want);
}

/*
 * The shift for bytes that are put at `position`. In a conversation everything
 * was read, nearly always, when an answer is written. A one-way stream is not
 * asked for: it would lose more by the look at the reader's cursor.
 */
uint32_t stream_rewind_shift(struct connection *c, uint64_t position,
			     uint32_t shift, size_t want)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t heard = relaxed_load(&c->slot->rx.position);

	if (is_heard(c, position))
		tx->peer_position = position;
	else if (heard != c->pace.heard)
		refresh_out(c, position);
	if (heard != c->pace.heard && tx->peer_position == position) {
		c->pace.rewind_step = REWIND_BYTES;
		shift = rewind_ring(c, position, shift, want);
	} else if (c->pace.rewind_step < c->out.ring[0].bytes) {
		c->pace.rewind_step = c->pace.rewind_step * 2 + REWIND_BYTES;
	}
	if (__builtin_expect(shift & RINGS_OVERFLOW, 0))
		shift = leave_overflow(c, position, shift);
	c->pace.heard = heard;
	c->pace.rewind_at = position + c->pace.rewind_step;
	return shift;
}

/* ---- what the reader is told beside them ---- */

void stream_fences_begin(struct connection *c)
{
	/* In this order: a handler that sees the flag gone fences. */
	atomic_fetch_and(&c->slot->socket_flags, ~SOCKET_UNFENCED);
	atomic_store(&c->out_producer->unfenced, 0);
}

/* The reader is told only after the last write without a fence. */
void stream_fences_end(struct connection *c)
{
	/* For a waiter there is a fence all the same. */
	if (relaxed_load(&c->peer_wait->waiter) ||
	    !relaxed_load(&c->out_consumer->barrier) || !barrier_register())
		return;
	atomic_store(&c->out_producer->unfenced, 1);
	atomic_fetch_or(&c->slot->socket_flags, SOCKET_UNFENCED);
}

static void say_since(struct connection *c)
{
	relaxed_store(&c->out_producer->since, sys_ticks());
}

void stream_says_since(struct connection *c)
{
	if (relaxed_load(&c->out_consumer->cursor) ==
	    relaxed_load(&c->slot->tx.position))
		say_since(c);
}

/* A peer that has answered has read what came before. The reader's cursor is a
 * miss, so a stream, where nothing is heard, looks at it now and then only. */
void stream_keep_order(struct connection *c)
{
	uint64_t heard = relaxed_load(&c->slot->rx.position);

	if (heard != c->pace.heard_before)
		say_since(c);
	else if (c->pace.writes < SINCE_WRITES ||
		 sys_ticks() - relaxed_load(&c->out_producer->since) >
		     SINCE_TICKS)
		stream_says_since(c);
}

/* ---- the bytes ---- */

/* How many of the next bytes can be read, 0 for none. */
static inline size_t readable(const struct place *from, size_t want)
{
	size_t n = want < CHECK_BYTES ? want : CHECK_BYTES;

	return __builtin_expect(place_holds(from, n, false), 1) ? n : 0;
}

static size_t put_piece(struct connection *c, struct place *from, size_t want,
			size_t least, bool taken)
{
	const struct ring *ring;
	struct piece p;
	size_t n = reserve(c, want < PIECE_BYTES ? want : PIECE_BYTES, least,
			   taken, &p);

	if (n == 0)
		return 0;
	ring = rings_of(&c->out, p.shift);
	place_copy(from, ring, ring_offset(ring, p.start, p.shift), n, false);
	if (p.first)
		commit(c, p.start);
	return n;
}

/* A handler filled what lies behind the copy that it interrupted, after the
 * reader took all before that copy: there is no room until it returns. */
static bool is_stuck(const struct connection *c, bool taken)
{
	const struct status_stream *tx = &c->slot->tx;

	return !taken && !ring_memory_is_missing(c) &&
	       tx->peer_position == atomic_load(&tx->position);
}

static bool is_whole(const struct connection *c, size_t want)
{
	return want <= WHOLE_BYTES && want <= connection_limit_out(c) / 4;
}

ssize_t stream_put(struct connection *c, struct place *from, size_t want)
{
	struct status_stream *tx = &c->slot->tx;
	size_t least = is_whole(c, want) ? want : 1;
	bool taken = stream_lock(tx);
	ssize_t result = check_out(c);
	size_t known = 0;
	size_t done = 0;

	if (taken)
		put_begin(c);
	while (result == 0 && done < want) {
		size_t n;

		if (known == done)
			known += readable(from, want - done);
		/* A full ring comes first: the buffer is not looked at then. */
		if (known == done && stream_free(c) > 0) {
			result = -EFAULT;
			break;
		}
		n = put_piece(c, from, known - done, least, taken);
		if (n == 0) {
			if (done == 0 && is_stuck(c, taken))
				result = -EAGAIN;
			break;
		}
		done += n;
	}
	if (done > 0) {
		advance(&tx->requests);
		result = (ssize_t)done;
	}
	c->pace.streak = 0;
	INVARIANT("S2", !taken || tx->peer_position <= tx->position);
	INVARIANT("S3", !taken || tx->position - tx->peer_position <= c->size);
	stream_unlock(tx, taken);
	/* One ring for the whole call: a reader on our own core would only
	 * be in the way of the rest of it. */
	if (done > 0 && connection_signal_data(c))
		c->pace.rang = true;
	return result;
}

/* ---- room ---- */

/* For a handler on top of a copy: only what lies behind counts; or all, when
 * there is no sense in waiting and stream_put would say so. */
static size_t free_behind(struct connection *c, uint64_t position,
			  uint64_t cursor)
{
	size_t ahead = shown(c, atomic_load(&c->slot->tx.window), position);
	size_t free = ring_free(connection_ring_out(c), position - cursor);

	if (ahead == 0 || position == cursor)
		return free;
	return free > ahead ? free - ahead : 0;
}

/* More may be in use than is allowed since. */
static size_t allowed_free(const struct connection *c, uint64_t used)
{
	uint32_t allowed = connection_limit_out(c);

	return used < allowed ? (size_t)(allowed - used) : 0;
}

size_t stream_free(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t position = relaxed_load(&tx->position);
	uint64_t cursor = atomic_load_explicit(&c->out_consumer->cursor,
					       memory_order_acquire);
	uint32_t holder = relaxed_load(&tx->lock);

	if (position - cursor > c->size)
		return 0;
	if (__builtin_expect(holder && holder == process_tid(), 0))
		return free_behind(c, position, cursor);
	return allowed_free(c, position - cursor);
}
