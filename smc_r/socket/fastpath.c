/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fastpath: the calls that most programs make most of the time. */
#include "smc_r/socket/fastpath.h"

#include <sys/socket.h>

#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/pages.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/stream/stream_steps.h"
#include "smc_r/wait/wait.h"

/* That change nothing here. */
#define RECEIVE_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL)
#define SEND_FLAGS    (MSG_DONTWAIT | MSG_NOSIGNAL)

static inline bool is_size(size_t n)
{
	return n - 1 < CALL_BYTES_MAX;
}

/* ---- receiving ---- */

/* Handlers on top of the copy may take the bytes first: then, nothing. Of a
 * stream socket_io gathers all that is there. */
static inline size_t take(struct connection *c, void *to, size_t want)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t position = relaxed_load(&rx->position);
	uint64_t window = window_in(c);
	size_t used = shown(c, window, position);
	const struct ring *ring;
	size_t at;
	size_t n;

	if (used < want) {
		if (refresh_in(c, position) < 0)
			return 0;
		let_more_come(c, position, want);
		window = window_in(c);
		used = shown(c, window, position);
		/* More lies in the other ring. */
		if ((uint32_t)window != (uint32_t)rx->peer_position)
			return 0;
	}
	n = used < want ? used : want;
	ring = rings_of(&c->in, window_shift(window));
	at = ring_offset(ring, position, window_shift(window));
	if (n - 1 >= WHOLE_BYTES || n > ring->bytes - at ||
	    !pages_hold(to, n, true))
		return 0;
	copy(to, ring->at + at, n);
	if (!stream_swap(&rx->position, position, position + n))
		return 0;
	tell_taken(c, used, n, position + n);
	advance(&rx->requests);
	c->pace.streak++;
	return cut(c, position, n);
}

static inline size_t locked_take(struct connection *c, void *to, size_t want)
{
	struct status_stream *rx = &c->slot->rx;
	size_t n = 0;

	if (!stream_lock_early(rx))
		return 0;
	if (stream_in_is_plain(c))
		n = take(c, to, want);
	stream_unlock(rx, true);
	return n;
}

ssize_t fastpath_receive(struct connection *c, void *to, size_t want, int flags)
{
	uint32_t options = relaxed_load(&c->slot->socket_flags);
	size_t n;

	if ((flags & ~RECEIVE_FLAGS) || !is_size(want) ||
	    connection_phase(c) != PHASE_ACTIVE ||
	    (options & (SOCKET_RCVLOWAT | SOCKET_GUARDED)))
		return 0;
	n = locked_take(c, to, want);
	if (n > 0 || (flags & MSG_DONTWAIT) || (options & SOCKET_NONBLOCK))
		return (ssize_t)n;
	c->pace.streak = 0;
	return wait_briefly(c) ? (ssize_t)locked_take(c, to, want) : 0;
}

/* ---- sending ---- */

static inline bool put(struct connection *c, const void *from, size_t want)
{
	const struct ring *ring;
	struct piece p;
	size_t first;
	size_t at;

	put_begin(c);
	if (!reserve(c, want, want, true, &p))
		return false;
	ring = rings_of(&c->out, p.shift);
	at = ring_offset(ring, p.start, p.shift);
	first = ring->bytes - at;
	if (first >= want) {
		copy(ring->at + at, from, want);
	} else {
		memcpy(ring->at + at, from, first);
		memcpy(ring->at, (const char *)from + first, want - first);
	}
	commit(c, p.start);
	advance(&c->slot->tx.requests);
	c->pace.streak = 0;
	return true;
}

ssize_t fastpath_send(struct connection *c, int fd, const void *from,
		      size_t want, int flags)
{
	struct status_stream *tx = &c->slot->tx;
	bool done = false;

	if ((flags & ~SEND_FLAGS) || !is_size(want) || want > WHOLE_BYTES ||
	    !pages_hold(from, want, false) ||
	    connection_phase(c) != PHASE_ACTIVE)
		return 0;
	output_watch(c, fd);
	if (!stream_lock_early(tx))
		return 0;
	if (stream_out_is_plain(c) && want <= connection_limit_out(c) / 4)
		done = put(c, from, want);
	stream_unlock(tx, true);
	if (!done)
		return 0;
	if (connection_signal_data(c))
		c->pace.rang = true;
	/* Asked since the call began: nobody else may come to serve it. */
	if (connection_peer_said(c) && !relaxed_load(&c->dead))
		demote_serve(c, fd);
	return (ssize_t)want;
}
