/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stream: bytes into the ring that we write, and out of the one we read. */
#include "stream.h"

#include <errno.h>
#include <string.h>

#include "lock.h"
#include "segment.h"

/* Large writes are published piece by piece: the reader copies out while the
 * writer still copies in. */
#define PIECE_BYTES 8192u
/* Large reads give room back in pieces for the same reason. */
#define TAKE_BYTES  32768u

void place_init(struct place *p, const struct iovec *v, size_t count)
{
	p->v = v;
	p->count = count;
	p->offset = 0;
}

/* Copies n bytes between a flat piece of the ring and the buffers. */
static void scatter(struct place *p, uint8_t *ring, size_t n, bool out)
{
	while (n > 0 && p->count > 0) {
		size_t k = p->v->iov_len - p->offset;
		char *user = (char *)p->v->iov_base + p->offset;

		k = k < n ? k : n;
		if (out)
			memcpy(user, ring, k);
		else
			memcpy(ring, user, k);
		ring += k;
		n -= k;
		p->offset += k;
		if (p->offset == p->v->iov_len) {
			p->v++;
			p->count--;
			p->offset = 0;
		}
	}
}

static void copy_ring(struct connection *c, struct place *p, uint8_t *ring,
		      uint64_t position, size_t n, bool out)
{
	size_t at = (size_t)(position & (c->size - 1));
	size_t first = c->size - at;

	if (first > n)
		first = n;
	scatter(p, ring + at, first, out);
	if (n > first)
		scatter(p, ring, n - first, out);
}

static void advance(_Atomic uint64_t *count)
{
	atomic_store_explicit(
	    count, atomic_load_explicit(count, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

/*
 * Tells the peer how far we are. A handler may advance the cursor on top of
 * us and tell it first, so the last word must be the newest. Sequentially
 * consistent: the look for a sleeper that follows must not come before.
 */
static void publish(_Atomic uint64_t *shared, const _Atomic uint64_t *own)
{
	uint64_t told;

	do {
		told = atomic_load_explicit(own, memory_order_relaxed);
		atomic_store(shared, told);
	} while (atomic_load_explicit(own, memory_order_relaxed) != told);
}

/* ---- reading ---- */

/* Looks at the writer's cursor once and believes it only if it can be true. */
static int refresh_in(struct connection *c, uint64_t position)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t cursor =
	    atomic_load_explicit(&c->in_producer->cursor, memory_order_acquire);

	/* A step back can be a signal handler's call below the last word of
	 * the call that it interrupted: no news. */
	if (cursor < rx->peer_position)
		return 0;
	if (cursor - position > c->size) {
		atomic_fetch_or(&rx->flags, STREAM_BROKEN);
		return -ECONNRESET;
	}
	rx->peer_position = cursor;
	return 0;
}

static int check_in(struct connection *c)
{
	uint32_t flags =
	    atomic_load_explicit(&c->slot->rx.flags, memory_order_relaxed);

	if (atomic_load_explicit(&c->dead, memory_order_relaxed))
		return -EBADF;
	if (flags & STREAM_TCP)
		return -EPIPE;
	if (flags & STREAM_BROKEN)
		return -ECONNRESET;
	return 0;
}

/* A writer that sleeps for room saw the ring more than two thirds full. So
 * only the step across that mark has to look whether somebody sleeps. */
static bool crosses_mark(const struct connection *c, uint64_t used, size_t n)
{
	uint64_t mark = c->size - c->size / 3;

	return used > mark && used - n <= mark;
}

static ssize_t take_piece(struct connection *c, struct place *to, size_t want,
			  unsigned how)
{
	struct status_stream *rx = &c->slot->rx;
	struct place start = *to;
	uint64_t position;
	uint64_t used;
	size_t n;

	do {
		*to = start;
		position =
		    atomic_load_explicit(&rx->position, memory_order_relaxed);
		if (rx->peer_position - position < want &&
		    refresh_in(c, position) < 0)
			return -ECONNRESET;
		used = rx->peer_position - position;
		n = used < want ? (size_t)used : want;
		if (n > TAKE_BYTES)
			n = TAKE_BYTES;
		if (n == 0)
			return 0;
		if (!(how & TAKE_DISCARD))
			copy_ring(c, to, c->in, position, n, true);
	} while (!atomic_compare_exchange_strong_explicit(
	    &rx->position, &position, position + n, memory_order_relaxed,
	    memory_order_relaxed));
	if (crosses_mark(c, used, n)) {
		publish(&c->in_consumer->cursor, &rx->position);
		connection_signal_room(c);
	} else {
		atomic_store_explicit(&c->in_consumer->cursor, position + n,
				      memory_order_release);
	}
	return (ssize_t)n;
}

static ssize_t peek(struct connection *c, struct place *to, size_t want,
		    size_t skip)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t position =
	    atomic_load_explicit(&rx->position, memory_order_relaxed);
	uint64_t there;

	if (refresh_in(c, position) < 0)
		return -ECONNRESET;
	there = rx->peer_position - position;
	if (there <= skip)
		return 0;
	there -= skip;
	if (there < want)
		want = (size_t)there;
	copy_ring(c, to, c->in, position + skip, want, true);
	return (ssize_t)want;
}

static ssize_t take_all(struct connection *c, struct place *to, size_t want,
			unsigned how)
{
	size_t done = 0;
	ssize_t n = 0;

	if (atomic_load(&c->slot->rx.flags) & STREAM_FROZEN)
		return 0;
	while (done < want) {
		n = take_piece(c, to, want - done, how);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done == 0)
		return n;
	advance(&c->slot->rx.requests);
	return (ssize_t)done;
}

ssize_t stream_take(struct connection *c, struct place *to, size_t want,
		    size_t skip, unsigned how)
{
	struct status_stream *rx = &c->slot->rx;
	bool taken = stream_lock(rx);
	ssize_t n = check_in(c);

	if (n == 0)
		n = how & TAKE_PEEK ? peek(c, to, want, skip)
				    : take_all(c, to, want, how);
	stream_unlock(rx, taken);
	return n;
}

size_t stream_fill(struct connection *c)
{
	uint64_t position =
	    atomic_load_explicit(&c->slot->rx.position, memory_order_relaxed);
	uint64_t cursor =
	    atomic_load_explicit(&c->in_producer->cursor, memory_order_acquire);

	return cursor - position <= c->size ? (size_t)(cursor - position) : 0;
}

/* ---- writing ---- */

static int check_out(struct connection *c)
{
	uint32_t flags =
	    atomic_load_explicit(&c->slot->tx.flags, memory_order_relaxed);

	if (atomic_load_explicit(&c->dead, memory_order_relaxed))
		return -EBADF;
	if (flags & STREAM_TCP || atomic_load_explicit(&c->out_consumer->flags,
						       memory_order_relaxed) &
				      CONSUMER_DEMOTE)
		return -EPIPE;
	return 0;
}

/* A reader's cursor that cannot be true gives no room. */
static size_t refresh_out(struct connection *c, uint64_t position)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t cursor = atomic_load_explicit(&c->out_consumer->cursor,
					       memory_order_acquire);

	if (cursor >= tx->peer_position && cursor <= position)
		tx->peer_position = cursor;
	return c->size - (size_t)(position - tx->peer_position);
}

static size_t put_piece(struct connection *c, struct place *from, size_t want)
{
	struct status_stream *tx = &c->slot->tx;
	struct place start = *from;
	uint64_t position;
	size_t free;
	size_t n;

	do {
		*from = start;
		position =
		    atomic_load_explicit(&tx->position, memory_order_relaxed);
		free = c->size - (size_t)(position - tx->peer_position);
		if (free < want)
			free = refresh_out(c, position);
		n = want < free ? want : free;
		if (n > PIECE_BYTES)
			n = PIECE_BYTES;
		if (n == 0)
			return 0;
		copy_ring(c, from, c->out, position, n, false);
	} while (!atomic_compare_exchange_strong_explicit(
	    &tx->position, &position, position + n, memory_order_relaxed,
	    memory_order_relaxed));
	publish(&c->out_producer->cursor, &tx->position);
	return n;
}

ssize_t stream_put(struct connection *c, struct place *from, size_t want)
{
	struct status_stream *tx = &c->slot->tx;
	bool taken = stream_lock(tx);
	ssize_t result = check_out(c);
	size_t done = 0;

	while (result == 0 && done < want) {
		size_t n = put_piece(c, from, want - done);

		if (n == 0)
			break;
		done += n;
	}
	if (done > 0) {
		advance(&tx->requests);
		result = (ssize_t)done;
	}
	stream_unlock(tx, taken);
	/* One ring for the whole call: a reader on our own core would only
	 * be in the way of the rest of it. */
	if (done > 0)
		connection_signal_data(c);
	return result;
}

ssize_t stream_room_begin(struct connection *c, struct room *r)
{
	struct status_stream *tx = &c->slot->tx;
	ssize_t result;
	size_t free;
	size_t at;

	r->taken = stream_lock(tx);
	result = check_out(c);
	if (result < 0) {
		stream_unlock(tx, r->taken);
		return result;
	}
	r->position = atomic_load(&tx->position);
	free = refresh_out(c, r->position);
	at = (size_t)(r->position & (c->size - 1));
	r->piece[0].iov_base = c->out + at;
	r->piece[0].iov_len = c->size - at < free ? c->size - at : free;
	r->piece[1].iov_base = c->out;
	r->piece[1].iov_len = free - r->piece[0].iov_len;
	return (ssize_t)free;
}

void stream_room_end(struct connection *c, struct room *r, size_t filled)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t position = r->position;

	if (filled > 0 && atomic_compare_exchange_strong(
			      &tx->position, &position, position + filled)) {
		publish(&c->out_producer->cursor, &tx->position);
		advance(&tx->requests);
	}
	stream_unlock(tx, r->taken);
	if (filled > 0)
		connection_signal_data(c);
}

size_t stream_free(struct connection *c)
{
	uint64_t position =
	    atomic_load_explicit(&c->slot->tx.position, memory_order_relaxed);
	uint64_t cursor = atomic_load_explicit(&c->out_consumer->cursor,
					       memory_order_acquire);

	return position - cursor <= c->size
		   ? c->size - (size_t)(position - cursor)
		   : 0;
}
