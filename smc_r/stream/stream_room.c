/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stream_room: room in the ring for a caller that fills it itself. */
#include <signal.h>

#include "smc_r/os/sys.h"
#include "smc_r/stream/stream.h"
#include "smc_r/stream/stream_steps.h"

/* What a call that fills the ring itself leaves to handlers on top of it. */
#define HANDLER_BYTES 4096u

/* All of the ring but what a handler needs; smaller rings are not made. */
static size_t room_limit(const struct connection *c)
{
	uint32_t bytes = connection_ring_out(c)->bytes;

	return bytes >= RMB_RMBE_MIN ? bytes - HANDLER_BYTES : bytes;
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
	return (ssize_t)ring_free(ring, r->position - tx->peer_position);
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
