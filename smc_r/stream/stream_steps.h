/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream_steps: the steps that a read and a write are made of, for stream*.c
 * and fastpath.c alone. In line, as four of each make half of a short answer's
 * time.
 *
 * Locking: the stream lock is held, or a handler runs on top of its holder.
 */
#ifndef SMC_R_STREAM_STEPS_H
#define SMC_R_STREAM_STEPS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/stream/stream.h"

#define BATCH_STREAK   8 /* reads in a row before a reader lets more come */
/* Large writes are published piece by piece: the reader copies out while the
 * writer still copies in. */
#define PIECE_BYTES    8192u
/* Several writers may send records that size without a lock of their own: as on
 * TCP, nothing comes in between. Less than the mark at which a writer wakes. */
#define WHOLE_BYTES    4096u
/* So many writes in a row that found nobody asleep make a stream. */
#define UNFENCED_AFTER 64
/* Large reads give room back in pieces for the same reason. */
#define TAKE_BYTES     32768u

/* Short ones without a call; the two halves may overlap. */
static inline void copy(void *to, const void *from, size_t n)
{
	struct half {
		uint64_t word[2];
	} head[2], tail[2];

	if (n > 64 || n < 32) {
		memcpy(to, from, n);
		return;
	}
	memcpy(head, from, sizeof(head));
	memcpy(tail, (const char *)from + n - sizeof(tail), sizeof(tail));
	memcpy(to, head, sizeof(head));
	memcpy((char *)to + n - sizeof(tail), tail, sizeof(tail));
}

static inline void advance(_Atomic uint64_t *count)
{
	relaxed_store(count, relaxed_load(count) + 1);
}

/*
 * Tells the peer how far we are. A handler may advance the cursor on top of
 * us and tell it first, so the last word must be the newest. Sequentially
 * consistent: the look for a sleeper that follows must not come before.
 */
static inline void publish(_Atomic uint64_t *shared,
			   const _Atomic uint64_t *own)
{
	uint64_t told;

	do {
		told = relaxed_load(own);
		inject_nap();
		atomic_store(shared, told);
		inject_nap();
	} while (relaxed_load(own) != told);
}

/* ---- reading ---- */

static inline int check_in(struct connection *c)
{
	if (relaxed_load(&c->dead))
		return -EBADF;
	if (stream_reads_tcp(c))
		return -EPIPE;
	return stream_is_broken(c) ? -ECONNRESET : 0;
}

/* Looks at the writer's cursor once and believes it only if it can be true. */
static inline int refresh_in(struct connection *c, uint64_t position)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t cursor =
	    atomic_load_explicit(&c->in_producer->cursor, memory_order_acquire);
	struct view view;

	/* A step back can be a signal handler's call below the last word of
	 * the call that it interrupted: no news. */
	if (cursor < rx->peer_position)
		return 0;
	view = rings_view(c->in_producer, position, cursor);
	if (cursor - position > c->size ||
	    view.end - position > rings_of(&c->in, view.shift)->bytes) {
		stream_break(c);
		return -ECONNRESET;
	}
	relaxed_store(&rx->window, window_make(view.shift, view.end));
	rx->peer_position = cursor;
	return 0;
}

/* Bytes from `position` on that the window shows. One that a call below us on
 * this stack wrote, late, may end before it. */
static inline size_t shown(const struct connection *c, uint64_t window,
			   uint64_t position)
{
	uint32_t n = (uint32_t)window - (uint32_t)position;

	return n <= c->size ? n : 0;
}

static inline uint64_t window_in(const struct connection *c)
{
	return relaxed_load(&c->slot->rx.window);
}

/* A writer that sleeps for room saw the ring more than two thirds full. So
 * only the step across that mark has to look whether somebody sleeps. */
static inline bool crosses_mark(const struct connection *c, uint64_t used,
				size_t n)
{
	uint64_t mark = stream_mark(c);

	return used > mark && used - n <= mark;
}

/* The step across may have been taken with an old view of the writer's cursor,
 * in which the ring never was that full. A writer that is about to sleep has
 * us fence between our cursor and this look; where it cannot, we do. */
static inline bool is_below_mark(struct connection *c)
{
	if (__builtin_expect(!connection_reads_unfenced(c), 0))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	return relaxed_load(&c->peer_wait->armed_room) &&
	       stream_fill(c) <= stream_mark(c);
}

/* n bytes were taken, up to `end`, of the `used` that one ring showed. Its
 * writer counts those of both. */
static inline void tell_taken(struct connection *c, size_t used, size_t n,
			      uint64_t end)
{
	uint64_t known = c->slot->rx.peer_position - (end - n);

	if (known <= c->size)
		used = (size_t)known;
	if (__builtin_expect(crosses_mark(c, used, n), 0)) {
		publish(&c->in_consumer->cursor, &c->slot->rx.position);
		connection_signal_room(c);
		return;
	}
	atomic_store_explicit(&c->in_consumer->cursor, end,
			      memory_order_release);
	inject_step(STEP_PUBLISHED);
	if (__builtin_expect(is_below_mark(c), 0))
		connection_signal_room(c);
}

/*
 * n bytes from `position` on were taken, and the peer was told. How many of
 * them the caller may keep: less where the writer recalled them meanwhile
 * (recall.h).
 */
size_t stream_cut(struct connection *c, uint64_t position, size_t n);
static inline size_t cut(struct connection *c, uint64_t position, size_t n)
{
	/* The writer's fence is one for us, too. */
	atomic_signal_fence(memory_order_seq_cst);
	if (stream_is_recalled(c))
		return stream_cut(c, position, n);
	return n;
}

/*
 * A reader as fast as the writer would look after every small write, and each
 * look takes the cursor's line away from the writer. In a stream, where reads
 * find bytes time after time and nothing is written back, it lets some more
 * come, as long as they do.
 */
void stream_let_more_come(struct connection *c, uint64_t position, size_t want);
static inline void let_more_come(struct connection *c, uint64_t position,
				 size_t want)
{
	if (__builtin_expect(c->pace.streak >= BATCH_STREAK, 0))
		stream_let_more_come(c, position, want);
}

/* ---- writing ---- */

static inline int check_out(struct connection *c)
{
	if (relaxed_load(&c->dead))
		return -EBADF;
	return stream_writes_tcp(c) || stream_seal_is_asked(c) ? -EPIPE : 0;
}

/* A reader's cursor that cannot be true gives no room. */
static inline void refresh_out(struct connection *c, uint64_t position)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t cursor = atomic_load_explicit(&c->out_consumer->cursor,
					       memory_order_acquire);

	if (cursor >= tx->peer_position && cursor <= position)
		tx->peer_position = cursor;
}

/* Has the peer told that it has read all? It does so with what it writes, so an
 * end that answers need not ask for the line of the peer's cursor. */
static inline bool is_heard(const struct connection *c, uint64_t position)
{
	return atomic_load_explicit(&c->in_producer->heard,
				    memory_order_acquire) == position;
}

/* Everything was read: from the beginning of the ring again. */
static inline uint32_t rewound(const struct connection *c, uint64_t position,
			       size_t want)
{
	return ((uint32_t)position - rings_start(&c->out, want)) & RINGS_SHIFT;
}

/* The shift for `want` bytes that are put at `position`. */
uint32_t stream_rewind_shift(struct connection *c, uint64_t position,
			     uint32_t shift, size_t want);

/* Bytes of the ring that are ours to fill. */
struct piece {
	uint64_t start; /* cursor */
	uint32_t shift;
	bool first; /* no writer is below us on this stack: we commit */
};

/* Bytes that may lie there, of both rings. A handler may fill the one that is
 * written: nobody is told to read meanwhile. */
static inline ssize_t limit_out(const struct connection *c, uint32_t shift,
				bool taken)
{
	uint32_t bytes = rings_of(&c->out, shift)->bytes;

	return taken ? connection_limit(bytes, c->out_producer) : bytes;
}

/* Have the next n bytes memory? The overflow ring is entered when all of the
 * RMBE has. */
static inline bool have_memory(const struct connection *c,
			       const struct piece *p, size_t n)
{
	const struct ring *ring = rings_of(&c->out, p->shift);
	size_t at = ring_offset(ring, p->start - c->out.start, p->shift);

	return at + n <= c->out_memory.bytes;
}

/*
 * Takes up to `want` bytes of the ring, but not less than `least` (up to
 * PIECE_BYTES): how many, or 0. What the window shows before
 * the holder's first reservation means nothing, hence `taken`; later it shows
 * what a copy below us on this stack is filling, and other handlers behind it.
 */
static inline size_t reserve(struct connection *c, size_t want, size_t least,
			     bool taken, struct piece *p)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t position;
	uint64_t window;
	ssize_t free;
	ssize_t room;

	do {
		/* In this order: the swap then vouches for both. */
		window =
		    atomic_load_explicit(&tx->window, memory_order_acquire);
		position = relaxed_load(&tx->position);
		p->shift = window_shift(window);
		p->start = position;
		if (!taken)
			p->start += shown(c, window, position);
		if (p->start == position) {
			if (is_heard(c, position) &&
			    !(p->shift & RINGS_OVERFLOW)) {
				tx->peer_position = position;
				p->shift = rewound(c, position, want);
			} else if (position >= c->pace.rewind_at) {
				p->shift = stream_rewind_shift(c, position,
							       p->shift, want);
			}
		}
		room = limit_out(c, p->shift, taken);
		free = room - (ssize_t)(p->start - tx->peer_position);
		if (free < (ssize_t)want) {
			refresh_out(c, position);
			free = room - (ssize_t)(p->start - tx->peer_position);
		}
		if (free < (ssize_t)least)
			return 0;
		if (free < (ssize_t)want)
			want = (size_t)free;
		if (__builtin_expect(!have_memory(c, p, want), 0))
			return 0;
	} while (!stream_swap(&tx->window, window,
			      window_make(p->shift, p->start + want)));
	p->first = p->start == position;
	return want;
}

/*
 * A handler on top of us may end the state; it fences, so the look at it comes
 * after the store.
 */
static inline void publish_bytes(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t told;

	if (!connection_is_unfenced(c)) {
		publish(&c->out_producer->cursor, &tx->position);
		return;
	}
	do {
		told = relaxed_load(&tx->position);
		atomic_store_explicit(&c->out_producer->cursor, told,
				      memory_order_release);
		atomic_signal_fence(memory_order_seq_cst);
	} while (relaxed_load(&tx->position) != told);
	if (!connection_is_unfenced(c))
		atomic_thread_fence(memory_order_seq_cst);
}

/* All that is reserved is filled. A handler that comes before the cursor is
 * stored puts its bytes behind ours and leaves them to us. */
static inline void commit(struct connection *c, uint64_t start)
{
	struct status_stream *tx = &c->slot->tx;
	uint64_t window;

	do {
		window =
		    atomic_load_explicit(&tx->window, memory_order_acquire);
		relaxed_store(&c->out_producer->shift, window_shift(window));
		atomic_store_explicit(&c->out_producer->heard,
				      relaxed_load(&c->in_consumer->cursor),
				      memory_order_release);
		atomic_store_explicit(
		    &tx->position, start + ((uint32_t)window - (uint32_t)start),
		    memory_order_release);
		atomic_signal_fence(memory_order_seq_cst);
	} while (relaxed_load(&tx->window) != window);
	publish_bytes(c);
}

void stream_fences_begin(struct connection *c);
void stream_fences_end(struct connection *c);
/* In an order that the peer asked for: when the ring ceased to be empty. */
void stream_keep_order(struct connection *c);

/* Is this a stream, whose reader stays awake? */
static inline void judge_fences(struct connection *c)
{
	uint64_t heard = relaxed_load(&c->slot->rx.position);

	if (heard == c->pace.heard_before && !c->pace.rang) {
		if (++c->pace.writes == UNFENCED_AFTER)
			stream_fences_end(c);
		return;
	}
	c->pace.heard_before = heard;
	c->pace.rang = false;
	c->pace.writes = 0;
	if (relaxed_load(&c->slot->socket_flags) & SOCKET_UNFENCED)
		stream_fences_begin(c);
}

/* What a write sees to before it begins. */
static inline void put_begin(struct connection *c)
{
	if (relaxed_load(&c->peer_wait->ordered))
		stream_keep_order(c);
	judge_fences(c);
}

#endif
