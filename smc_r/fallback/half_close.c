/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* half_close: the FIN of a half that is shut. */
#include "smc_r/fallback/half_close.h"

#include <poll.h>
#include <sys/socket.h>

#include "smc_r/fallback/send_for_peer.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/stream/stream.h"

#define AWAIT_MS 5 /* a peer that was woken, and needs only a core */

/* ---- our half ---- */

/* The server reads no message of ours any more, behind which an end would be
 * that of the connection. */
static bool is_settled(const struct connection *c)
{
	return connection_phase(c) == PHASE_ACTIVE && !connection_is_far(c) &&
	       (c->side == SIDE_SERVER || atomic_load(&c->control->confirmed) ==
					      atomic_load(&c->control->epoch));
}

/* The peer has read all of our half. Until then bytes are on their way over
 * TCP, or about to be; but what a peer that has shut both ways has not read
 * stays where it is. */
static bool is_read(const struct connection *c)
{
	return !stream_recalls(c) && (stream_peer_is_shut(c) ||
				      atomic_load(&c->out_consumer->cursor) ==
					  atomic_load(&c->slot->tx.position));
}

static bool has_come(const struct connection *c, int fd, int ms)
{
	return sys_poll(connection_fd(c, fd), POLLRDHUP, ms);
}

/* The peer was first, and TCP is to see that order. */
static bool must_follow(const struct connection *c, int fd)
{
	return stream_peer_shut_first(c) && !has_come(c, fd, 0);
}

void half_close_send(struct connection *c, int fd)
{
	struct status_stream *tx = &c->slot->tx;
	bool taken;

	if (!is_settled(c) || !is_read(c) || must_follow(c, fd))
		return;
	/* A handler must not do this on top of a call that goes back to TCP. */
	taken = stream_lock(tx);
	if (taken && stream_owes_fin(c) && is_read(c)) {
		connection_end(c, ENDS_FIN_IS_DUE);
		inject_nap();
		SYS_CALL3(SYS_shutdown, connection_fd(c, fd), SHUT_WR, 0);
		connection_end(c, ENDS_FIN_IS_SENT);
	}
	stream_unlock(tx, taken);
}

void half_close_announce(struct connection *c, int fd)
{
	struct rmb_producer *out = c->out_producer;

	atomic_store(&out->shut_pid, (uint32_t)process.pid);
	atomic_store(&out->shut_fd, (uint32_t)fd + 1);
}

/* ---- the peer's ---- */

/* It is shut, and nothing of it is unread. */
static bool is_at_end(struct connection *c)
{
	struct ends_words w = connection_ends(c);

	return ends_half_by_ring(&w) && stream_fill(c) == 0;
}

bool half_close_has_come(const struct connection *c)
{
	struct ends_words w = connection_ends(c);

	return ends_fin_went_out(&w);
}

void half_close_tell(struct connection *c)
{
	if (half_close_has_come(c) || connection_phase(c) != PHASE_ACTIVE ||
	    !is_at_end(c))
		return;
	/* Our cursor is out before we look whether a thread sleeps. */
	if (connection_end(c, ENDS_DRAIN_IS_TOLD))
		c->tcp.end_woke = connection_signal_data(c);
}

/* TCP hears of the two ends in the order in which the programs had them. */
static bool was_first(const struct connection *c)
{
	struct ends_words w = connection_ends(c);

	return ends_peer_was_first(&w);
}

static bool is_ourselves(const struct connection *c)
{
	return c->slot->peer_pid == process.pid;
}

void half_close_follow(struct connection *c, int fd)
{
	bool woke;

	if (!stream_is_shut(c) || connection_phase(c) != PHASE_ACTIVE ||
	    connection_is_far(c) || !is_at_end(c) || !was_first(c) ||
	    has_come(c, fd, 0) || send_for_peer_fin(c, fd))
		return;
	woke = connection_signal_data(c) || c->tcp.end_woke;
	if (woke && !is_ourselves(c))
		has_come(c, fd, AWAIT_MS);
}
