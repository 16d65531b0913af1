/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stream: bytes out of the ring that we read; stream_put.c: into the other. */
#include "smc_r/stream/stream.h"

#include <errno.h>

#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream_place.h"
#include "smc_r/stream/stream_steps.h"

#define BATCH_BYTES  8192
#define BATCH_LOOKS  4
#define BATCH_PAUSES 10
/* A reader waits so often for the writer to say what it recalls. */
#define CUT_NAPS     10000
#define CUT_NAP_NS   100000

void stream_break(struct connection *c)
{
	if (connection_end(c, ENDS_PEER_BREAKS))
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
		if (!stream_is_recalled(c))
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
		position = relaxed_load(&rx->position);
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
		if (!(how & TAKE_DISCARD) && !place_holds(to, n, true))
			return -EFAULT;
		ring = rings_of(&c->in, window_shift(window));
		if (!(how & TAKE_DISCARD))
			place_copy(
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
		place_skip(to, used);
	return (ssize_t)used;
}

static ssize_t peek(struct connection *c, struct place *to, size_t want,
		    size_t skip)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t position = relaxed_load(&rx->position);
	size_t there;

	if (refresh_in(c, position) < 0)
		return -ECONNRESET;
	there = rx->peer_position - position;
	if (there > c->size || there <= skip)
		return 0;
	there -= skip;
	if (there < want)
		want = there;
	if (!place_holds(to, want, true))
		return -EFAULT;
	for (size_t done = 0, n; done < want; done += n) {
		uint8_t *from;

		n = want - done;
		from = rings_piece(&c->in, c->in_producer,
				   position + skip + done, &n);
		place_scatter(to, from, n, true);
	}
	return (ssize_t)want;
}

static ssize_t take_all(struct connection *c, struct place *to, size_t want,
			unsigned how)
{
	size_t done = 0;
	ssize_t n = 0;

	if (stream_is_frozen(c))
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
	c->pace.streak++;
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
	INVARIANT("S1", !taken || n < 0 || rx->position <= rx->peer_position);
	stream_unlock(rx, taken);
	return n;
}

/*
 * Without the lock: other threads may read meanwhile. So the writer's cursor
 * is loaded before ours, which then is at least what it was when the writer
 * stored its own. A cursor behind ours is a step back, as in refresh_in.
 */
bool stream_input_is_broken(struct connection *c)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t cursor =
	    atomic_load_explicit(&c->in_producer->cursor, memory_order_acquire);
	uint64_t position = relaxed_load(&rx->position);

	if (cursor <= position || cursor - position <= c->size)
		return false;
	stream_break(c);
	return true;
}

size_t stream_fill(struct connection *c)
{
	uint64_t position = relaxed_load(&c->slot->rx.position);
	uint64_t cursor =
	    atomic_load_explicit(&c->in_producer->cursor, memory_order_acquire);

	return cursor - position <= c->size ? (size_t)(cursor - position) : 0;
}
