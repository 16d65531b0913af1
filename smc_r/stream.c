/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stream: bytes into the ring that we write, and out of the one we read. */
#include "stream.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "pages.h"
#include "reason.h"
#include "segment.h"
#include "stream_steps.h"
#include "sys.h"

#define BATCH_BYTES      8192
#define BATCH_LOOKS      4
#define BATCH_PAUSES     10
/* A conversation looks so often whether the ring is empty. */
#define REWIND_BYTES     1024u
/* Writes that say since when there are bytes; later ones do now and then, by
 * sys_ticks. */
#define SINCE_WRITES     16
#define SINCE_TICKS      65536u
/* A reader waits so often for the writer to say what it recalls. */
#define CUT_NAPS         10000
#define CUT_NAP_NS       100000
/* What a call that fills the ring itself leaves to handlers on top of it. */
#define HANDLER_BYTES    4096u
/* Then a writer that went to the annex looks whether its reader is quick. */
#define ANNEX_STAY_BYTES 268435456u

void place_init(struct place *p, const struct iovec *v, size_t count)
{
	p->v = v;
	p->count = count;
	p->offset = 0;
}

static inline void pass(struct place *p, size_t n)
{
	p->offset += n;
	if (p->offset == p->v->iov_len) {
		p->v++;
		p->count--;
		p->offset = 0;
	}
}

/* Copies n bytes between a flat piece of the ring and the buffers. */
static void scatter(struct place *p, uint8_t *ring, size_t n, bool out)
{
	while (n > 0 && p->count > 0) {
		size_t k = p->v->iov_len - p->offset;
		char *user = (char *)p->v->iov_base + p->offset;

		k = k < n ? k : n;
		/* An empty buffer may have no address. */
		if (k == 0)
			;
		else if (out)
			memcpy(user, ring, k);
		else
			memcpy(ring, user, k);
		ring += k;
		n -= k;
		pass(p, k);
	}
}

static void copy_pieces(struct place *p, const struct ring *ring, size_t at,
			size_t n, bool out)
{
	size_t first = ring->bytes - at;

	if (first > n)
		first = n;
	scatter(p, ring->at + at, first, out);
	if (n > first)
		scatter(p, ring->at, n - first, out);
}

static void skip_bytes(struct place *p, size_t n)
{
	while (n > 0 && p->count > 0) {
		size_t k = p->v->iov_len - p->offset;

		k = k < n ? k : n;
		n -= k;
		pass(p, k);
	}
}

/* Nearly always one buffer takes it all, and the ring does not end there. */
static inline void copy_ring(struct place *p, const struct ring *ring,
			     size_t at, size_t n, bool out)
{
	char *user;

	if (p->count == 0 || p->v->iov_len - p->offset < n ||
	    ring->bytes - at < n) {
		copy_pieces(p, ring, at, n, out);
		return;
	}
	user = (char *)p->v->iov_base + p->offset;
	if (out)
		copy(user, ring->at + at, n);
	else
		copy(ring->at + at, user, n);
	pass(p, n);
}

/* Is there memory behind the next n bytes of the buffers? */
static bool holds_pieces(const struct place *p, size_t n, bool write)
{
	struct place at = *p;

	while (n > 0 && at.count > 0) {
		size_t k = at.v->iov_len - at.offset;

		k = k < n ? k : n;
		if (!pages_hold((char *)at.v->iov_base + at.offset, k, write))
			return false;
		n -= k;
		pass(&at, k);
	}
	return true;
}

static inline bool holds(const struct place *p, size_t n, bool write)
{
	return (p->count > 0 && p->v->iov_len - p->offset >= n &&
		pages_know((char *)p->v->iov_base + p->offset, n, write)) ||
	       holds_pieces(p, n, write);
}

/* ---- reading ---- */

void stream_break(struct connection *c)
{
	uint32_t old = atomic_fetch_or(&c->slot->rx.flags, STREAM_BROKEN);

	if (!(old & STREAM_BROKEN))
		segment_count(fallbacks[reason_index(REASON_PEER_MEMORY)]);
}

void stream_let_more_come(struct connection *c, uint64_t position, size_t want)
{
	size_t seen = shown(c, window_in(c), position);

	if (seen == 0)
		return;
	for (int i = 0; i < BATCH_LOOKS; i++) {
		size_t before = seen;

		if (seen >= BATCH_BYTES || seen >= want)
			return;
		for (int k = 0; k < BATCH_PAUSES; k++)
			sys_relax();
		if (refresh_in(c, position) < 0)
			return;
		seen = shown(c, window_in(c), position);
		if (seen == before)
			return;
	}
}

/* The writer says where the final cursor is in a moment; it may have died. */
size_t stream_cut(struct connection *c, uint64_t position, size_t n)
{
	struct timespec nap = {0, CUT_NAP_NS};
	uint64_t at = 0;

	for (int i = 0; i < CUT_NAPS && at == 0; i++) {
		at = atomic_load(&c->in_producer->recalled);
		if (!(atomic_load(&c->in_producer->flags) & PRODUCER_RECALLS))
			return n;
		if (at == 0)
			SYS_CALL3(SYS_nanosleep, &nap, NULL, 0);
	}
	if (at == 0 || at - 1 >= position + n)
		return n;
	at = at - 1 < position ? position : at - 1;
	atomic_store(&c->slot->rx.position, at);
	atomic_store(&c->in_consumer->cursor, at);
	return (size_t)(at - position);
}

static ssize_t take_piece(struct connection *c, struct place *to, size_t want,
			  unsigned how)
{
	struct status_stream *rx = &c->slot->rx;
	struct place start = *to;
	const struct ring *ring;
	uint64_t position;
	uint64_t window;
	size_t used;
	size_t n;

	do {
		*to = start;
		position =
		    atomic_load_explicit(&rx->position, memory_order_relaxed);
		if (shown(c, window_in(c), position) < want &&
		    refresh_in(c, position) < 0)
			return -ECONNRESET;
		let_more_come(c, position, want);
		window = window_in(c);
		used = shown(c, window, position);
		n = used < want ? used : want;
		if (n > TAKE_BYTES)
			n = TAKE_BYTES;
		if (n == 0)
			return 0;
		if (!(how & TAKE_DISCARD) && !holds(to, n, true))
			return -EFAULT;
		ring = rings_of(&c->in, window_shift(window));
		if (!(how & TAKE_DISCARD))
			copy_ring(
			    to, ring,
			    ring_offset(ring, position, window_shift(window)),
			    n, true);
	} while (!stream_swap(&rx->position, position, position + n));
	tell_taken(c, used, n, position + n);
	used = cut(c, position, n);
	if (used == n)
		return (ssize_t)n;
	*to = start;
	if (!(how & TAKE_DISCARD))
		skip_bytes(to, used);
	return (ssize_t)used;
}

static ssize_t peek(struct connection *c, struct place *to, size_t want,
		    size_t skip)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t position =
	    atomic_load_explicit(&rx->position, memory_order_relaxed);
	size_t there;

	if (refresh_in(c, position) < 0)
		return -ECONNRESET;
	there = rx->peer_position - position;
	if (there > c->size || there <= skip)
		return 0;
	there -= skip;
	if (there < want)
		want = there;
	if (!holds(to, want, true))
		return -EFAULT;
	for (size_t done = 0, n; done < want; done += n) {
		uint8_t *from;

		n = want - done;
		from = rings_piece(&c->in, c->in_producer,
				   position + skip + done, &n);
		scatter(to, from, n, true);
	}
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
	c->streak++;
	return (ssize_t)done;
}

ssize_t stream_take(struct connection *c, struct place *to, size_t want,
		    size_t skip, unsigned how)
{
	struct status_stream *rx = &c->slot->rx;
	bool taken = stream_lock(rx);
	ssize_t n = check_in(c);

	if (n == 0 && !stream_is_recalled(c))
		n = how & TAKE_PEEK ? peek(c, to, want, skip)
				    : take_all(c, to, want, how);
	stream_unlock(rx, taken);
	return n;
}

/*
 * Without the lock: other threads may read meanwhile. So the writer's cursor
 * is loaded before ours, which then is at least what it was when the writer
 * stored his. A cursor behind ours is a step back, as in refresh_in.
 */
bool stream_input_is_broken(struct connection *c)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t cursor =
	    atomic_load_explicit(&c->in_producer->cursor, memory_order_acquire);
	uint64_t position =
	    atomic_load_explicit(&rx->position, memory_order_relaxed);

	if (cursor <= position || cursor - position <= c->size)
		return false;
	stream_break(c);
	return true;
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

/* The ring that is not in use has been left by the reader as well. */
static bool other_is_empty(const struct connection *c)
{
	return c->slot->tx.peer_position >=
	       atomic_load_explicit(&c->out_producer->switched,
				    memory_order_relaxed);
}

/* From `position` on, at the other ring's beginning. A handler's bytes that
 * come before it does no harm: the reader has one shift for both then. */
static uint32_t change_rings(struct connection *c, uint64_t position,
			     uint32_t shift)
{
	struct rmb_producer *out = c->out_producer;

	atomic_store_explicit(&out->before, shift, memory_order_relaxed);
	atomic_store_explicit(&out->switched, position, memory_order_release);
	return ((shift & RINGS_ANNEX) ^ RINGS_ANNEX) |
	       ((uint32_t)position & RINGS_SHIFT);
}

bool stream_enter_annex(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t position = atomic_load(&tx->position);
	uint64_t window = atomic_load(&tx->window);
	uint32_t shift = window_shift(window);

	refresh_out(c, position);
	if (shift & RINGS_ANNEX || !other_is_empty(c) ||
	    shown(c, window, position) > 0)
		return false;
	c->return_at = position + ANNEX_STAY_BYTES;
	return stream_swap(
	    &tx->window, window,
	    window_make(change_rings(c, position, shift), position));
}

/* Back to the RMBE? */
static uint32_t leave_annex(struct connection *c, uint64_t position,
			    uint32_t shift)
{
	if (position < c->return_at)
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
	if (__builtin_expect(shift & RINGS_ANNEX, 0) && position < c->return_at)
		return RINGS_ANNEX | ((uint32_t)position & RINGS_SHIFT);
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
	uint64_t heard =
	    atomic_load_explicit(&c->slot->rx.position, memory_order_relaxed);

	if (is_heard(c, position))
		tx->peer_position = position;
	else if (heard != c->heard)
		refresh_out(c, position);
	if (heard != c->heard && tx->peer_position == position) {
		c->rewind_step = REWIND_BYTES;
		shift = rewind_ring(c, position, shift, want);
	} else if (c->rewind_step < c->out.ring[0].bytes) {
		c->rewind_step = c->rewind_step * 2 + REWIND_BYTES;
	}
	if (__builtin_expect(shift & RINGS_ANNEX, 0))
		shift = leave_annex(c, position, shift);
	c->heard = heard;
	c->rewind_at = position + c->rewind_step;
	return shift;
}

/* So much TCP takes at a time, as a whole. */
#define CHECK_BYTES 32768u

/* How many of the next bytes can be read, 0 for none. */
static inline size_t readable(const struct place *from, size_t want)
{
	size_t n = want < CHECK_BYTES ? want : CHECK_BYTES;

	return __builtin_expect(holds(from, n, false), 1) ? n : 0;
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
	copy_ring(from, ring, ring_offset(ring, p.start, p.shift), n, false);
	if (p.first)
		commit(c, p.start);
	return n;
}

/* A handler that filled what lies behind the copy that it interrupted, after
 * the reader took all before: there will be no room until it returns. */
static bool is_stuck(const struct connection *c, bool taken)
{
	const struct status_stream *tx = &c->slot->tx;

	return !taken && tx->peer_position == atomic_load(&tx->position);
}

void stream_fences_begin(struct connection *c)
{
	/* In this order: a handler that sees the flag gone fences. */
	atomic_fetch_and(&c->slot->socket_flags, ~SOCKET_UNFENCED);
	atomic_store(&c->out_producer->unfenced, 0);
}

/* Nothing is published without a fence before the reader can know. */
void stream_fences_end(struct connection *c)
{
	/* For a waiter there is a fence all the same. */
	if (atomic_load_explicit(&c->peer_wait->waiter, memory_order_relaxed) ||
	    !atomic_load_explicit(&c->out_consumer->barrier,
				  memory_order_relaxed) ||
	    !barrier_register())
		return;
	atomic_store(&c->out_producer->unfenced, 1);
	atomic_fetch_or(&c->slot->socket_flags, SOCKET_UNFENCED);
}

static bool is_whole(const struct connection *c, size_t want)
{
	return want <= WHOLE_BYTES && want <= connection_allowed_out(c) / 4;
}

static void say_since(struct connection *c)
{
	atomic_store_explicit(&c->out_producer->since, sys_ticks(),
			      memory_order_relaxed);
}

void stream_says_since(struct connection *c)
{
	if (atomic_load_explicit(&c->out_consumer->cursor,
				 memory_order_relaxed) ==
	    atomic_load_explicit(&c->slot->tx.position, memory_order_relaxed))
		say_since(c);
}

/* Who has answered has read what came before. The reader's cursor is a miss,
 * so a stream, where nothing is heard, looks at it now and then only. */
void stream_keep_order(struct connection *c)
{
	uint64_t heard =
	    atomic_load_explicit(&c->slot->rx.position, memory_order_relaxed);

	if (heard != c->heard_before)
		say_since(c);
	else if (c->writes < SINCE_WRITES ||
		 sys_ticks() - atomic_load_explicit(&c->out_producer->since,
						    memory_order_relaxed) >
		     SINCE_TICKS)
		stream_says_since(c);
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
		/* Where there is no room nobody looks. */
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
	c->streak = 0;
	stream_unlock(tx, taken);
	/* One ring for the whole call: a reader on our own core would only
	 * be in the way of the rest of it. */
	if (done > 0 && connection_signal_data(c))
		c->rang = true;
	return result;
}

/* All of the ring but what a handler needs; smaller rings are not made. */
static size_t room_limit(const struct connection *c)
{
	uint32_t bytes = connection_ring_out(c)->bytes;

	return bytes >= RMB_RMBE_MIN ? bytes - HANDLER_BYTES : bytes;
}

static size_t free_in(const struct ring *r, uint64_t used)
{
	return used < r->bytes ? (size_t)(r->bytes - used) : 0;
}

ssize_t stream_room_begin(struct connection *c, struct room *r)
{
	struct status_stream *tx = &c->slot->tx;
	struct piece p = {0, 0, false};
	const struct ring *ring;
	ssize_t result;
	size_t at;

	r->taken = stream_lock(tx);
	result = check_out(c);
	if (result < 0) {
		stream_unlock(tx, r->taken);
		return result;
	}
	/* The holder is our caller, whose frame lies above this one. */
	if (r->taken)
		atomic_fetch_add(&tx->frame, 1);
	refresh_out(c, atomic_load(&tx->position));
	if (r->taken)
		stream_says_since(c);
	r->bytes = reserve(c, room_limit(c), 1, r->taken, &p);
	r->position = p.start;
	r->shift = p.shift;
	r->first = p.first;
	ring = rings_of(&c->out, r->shift);
	at = ring_offset(ring, r->position, r->shift);
	r->piece[0].iov_base = ring->at + at;
	r->piece[0].iov_len =
	    ring->bytes - at < r->bytes ? ring->bytes - at : r->bytes;
	r->piece[1].iov_base = ring->at;
	r->piece[1].iov_len = r->bytes - r->piece[0].iov_len;
	return (ssize_t)free_in(ring, r->position - tx->peer_position);
}

/* What handlers wrote behind the room follows what was filled of it. With
 * signals blocked, as the next handler would write behind the old place. */
static void close_gap(struct connection *c, uint64_t to, uint64_t from,
		      uint32_t shift)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t all = ~0ull;
	uint64_t saved;
	uint32_t n;

	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, sizeof(all));
	n = (uint32_t)atomic_load(&tx->window) - (uint32_t)from;
	for (uint32_t i = 0; i < n; i++)
		*rings_at(&c->out, to + i, shift) =
		    *rings_at(&c->out, from + i, shift);
	atomic_store(&tx->window, window_make(shift, to + n));
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(all));
}

void stream_room_end(struct connection *c, struct room *r, size_t filled)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t end = r->position + r->bytes;
	bool moved;

	if (filled > r->bytes)
		filled = r->bytes;
	if (r->bytes > 0 &&
	    !stream_swap(&tx->window, window_make(r->shift, end),
			 window_make(r->shift, r->position + filled)))
		close_gap(c, r->position + filled, end, r->shift);
	moved = r->bytes > 0 &&
		(uint32_t)atomic_load(&tx->window) != (uint32_t)r->position;
	if (moved && r->first)
		commit(c, r->position);
	if (filled > 0)
		advance(&tx->requests);
	stream_unlock(tx, r->taken);
	if (moved)
		connection_signal_data(c);
}

/* For a handler on top of a copy: only what lies behind counts; or all, when
 * there is no sense in waiting and stream_put would say so. */
static size_t free_behind(struct connection *c, uint64_t position,
			  uint64_t cursor)
{
	size_t ahead = shown(c, atomic_load(&c->slot->tx.window), position);
	size_t free = free_in(connection_ring_out(c), position - cursor);

	if (ahead == 0 || position == cursor)
		return free;
	return free > ahead ? free - ahead : 0;
}

/* More may be in use than is allowed since. */
static size_t allowed_free(const struct connection *c, uint64_t used)
{
	uint32_t allowed = connection_allowed_out(c);

	return used < allowed ? (size_t)(allowed - used) : 0;
}

size_t stream_free(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t position =
	    atomic_load_explicit(&tx->position, memory_order_relaxed);
	uint64_t cursor = atomic_load_explicit(&c->out_consumer->cursor,
					       memory_order_acquire);
	uint32_t holder = atomic_load_explicit(&tx->lock, memory_order_relaxed);

	if (position - cursor > c->size)
		return 0;
	if (__builtin_expect(holder && holder == process_tid(), 0))
		return free_behind(c, position, cursor);
	return allowed_free(c, position - cursor);
}
