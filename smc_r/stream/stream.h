/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream: bytes into the ring that we write, and out of the one that we read.
 * Never sleeps, never enters the kernel.
 *
 * The cursor in the slot is the true one; advancing it is what commits a copy.
 * The one in shared memory is what the peer is told.
 *
 * A signal handler may do a whole call on top of an interrupted one. A reader
 * that finds the cursor moved under it starts its copy again. A writer cannot:
 * the rest of its copy would go over what the handler wrote. So each writer
 * reserves its bytes of the ring before it copies; a handler reserves behind
 * them, and what it wrote is told to the peer when the interrupted writer
 * commits. If it never does (siglongjmp, death), both are lost.
 *
 * Invariants, whenever the outermost holder lets go of the lock:
 *   S1  what was read was seen: rx.position <= rx.peer_position;
 *   S2  what the peer has read was written: tx.peer_position <= tx.position;
 *   S3  what it has not read fits: tx.position - tx.peer_position <= size.
 *
 * Locking: takes the stream lock itself, except the _locked ones.
 *
 * Room is signalled at one mark: a writer sleeps until a third of what it may
 * use is free. So a reader looks for a sleeping writer only when it crosses
 * that mark or finds the ring empty, and the busy path has no fence for it: a
 * writer that goes to sleep has the kernel fence for the reader (barrier.h). A
 * stream's reader that finds bytes time after time lets some more come before
 * it looks again, as each look takes the cursor's cache line from the writer.
 */
#ifndef SMC_R_STREAM_H
#define SMC_R_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "smc_r/connection/connection_ends.h"

/* A place in a list of buffers. base NULL: bytes are thrown away. */
struct place {
	const struct iovec *v;
	size_t count;  /* buffers left, v[0] included */
	size_t offset; /* into v[0] */
};

void place_init(struct place *p, const struct iovec *v, size_t count);

#define TAKE_PEEK    1u /* leave the bytes where they are */
#define TAKE_DISCARD 2u /* count them, copy nothing */

/*
 * Up to `want` bytes out of the ring, `skip` bytes further on (peeking only).
 * 0: nothing there. -EPIPE: this direction is the kernel's now; -ECONNRESET:
 * the peer broke the rules; -EBADF: the connection is gone.
 */
ssize_t stream_take(struct connection *c, struct place *to, size_t want,
		    size_t skip, unsigned how);

/* Up to `want` bytes into the ring: how many; 0: no room. Up to 4096, and
 * a quarter of the ring, go in one piece or not at all. -EPIPE: this
 * direction is the kernel's now or the peer asked for that; -EBADF. -EAGAIN:
 * in a handler, and no room before it returns. */
ssize_t stream_put(struct connection *c, struct place *from, size_t want);

/* Something is about to come, be it the end: if nothing was there, the reader
 * may learn since when. */
void stream_says_since(struct connection *c);

/*
 * Room in the ring for a caller that fills it itself (sendfile): up to two
 * pieces; stream_room_end is told how much was filled. The stream lock is held
 * in between. Returns the bytes that are free, or an error as stream_put and no
 * lock. The pieces may be less: a handler needs room, too.
 */
struct room {
	struct iovec piece[2];
	size_t bytes; /* of both pieces */
	uint64_t position;
	uint32_t shift;
	bool taken;
	bool first; /* no call of ours below this one commits */
};
ssize_t stream_room_begin(struct connection *c, struct room *r);
void stream_room_end(struct connection *c, struct room *r, size_t filled);

/* The next bytes go to the overflow ring. False: it is not empty, or there was
 * room behind a copy that this call came upon. The stream lock is held.
 * overflow.h. */
bool stream_enter_overflow(struct connection *c);

/* A hint: the next bytes will be read at once. */
static inline void stream_expect(const struct connection *c)
{
	uint64_t position = relaxed_load(&c->slot->rx.position);
	uint32_t shift = relaxed_load(&c->in_producer->shift);

	__builtin_prefetch(rings_at(&c->in, position, shift));
}

/* Bytes that can be read now; checked. */
size_t stream_fill(struct connection *c);
/* The writer's cursor is impossible: stream_take says -ECONNRESET from now on.
 * Counts REASON_PEER_MEMORY, once. */
void stream_break(struct connection *c);
/* Is the writer's cursor impossible? Then the direction is broken. */
bool stream_input_is_broken(struct connection *c);
/* Bytes that can be written now; checked. */
size_t stream_free(struct connection *c);

/* Enough room to wake a writer: a third, as TCP does. */
static inline bool stream_has_room(const struct connection *c, size_t free)
{
	return free >= connection_limit_out(c) / 3;
}

/* So many bytes of the ring that we read leave its writer that much. */
static inline uint32_t stream_mark(const struct connection *c)
{
	uint32_t allowed = connection_limit_in(c);

	return allowed - allowed / 3;
}

/*
 * The last look at the peer's cursor answers: true is true for as long as no
 * other thread of this end reads, or writes. The cursor itself is in a line
 * that the peer writes with every message; asking for it holds up both.
 */
static inline bool stream_knows_bytes(const struct connection *c)
{
	const struct status_stream *rx = &c->slot->rx;
	uint64_t known = __atomic_load_n(&rx->peer_position, __ATOMIC_RELAXED) -
			 relaxed_load(&rx->position);

	return known - 1 < c->size;
}

static inline bool stream_knows_room(const struct connection *c)
{
	const struct status_stream *tx = &c->slot->tx;
	uint64_t used = relaxed_load(&tx->position) -
			__atomic_load_n(&tx->peer_position, __ATOMIC_RELAXED);

	uint32_t allowed = connection_limit_out(c);

	return used <= allowed && allowed - used >= allowed / 3;
}

#endif
