/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ends: how the two directions of a connection stand, and how they end. */
#include "smc_r/protocol/ends.h"

#include <errno.h>

/* ---- what the words mean ---- */

enum ends_peer ends_peer(const struct ends_words *w)
{
	if (w->tcp == ENDS_TCP_ENDED)
		return PEER_GONE;
	if (w->peer & (PRODUCER_CLOSED | PRODUCER_ABORTED))
		return PEER_CLOSED;
	if (w->peer & PRODUCER_SHUT)
		return PEER_SHUT;
	if (!(w->peer & PRODUCER_FIN))
		return PEER_OPEN;
	return (w->peer & PRODUCER_HALVED) || (w->rx & STREAM_FIN_SENT)
		   ? PEER_HALF_FIN
		   : PEER_HALF;
}

/* A peer whose end TCP does not know tells each orderly one by a FIN. */
static enum ends_in in_told_by_peer(const struct ends_words *w)
{
	if (w->peer & PRODUCER_ABORTED)
		return IN_RESET;
	if (w->peer & PRODUCER_FIN)
		return IN_END;
	return (w->peer & PRODUCER_CLOSED) || (w->rx & STREAM_RESET) ? IN_RESET
								     : IN_RING;
}

/* The peer has ended, or goes on elsewhere; or IN_RING. */
static enum ends_in in_of_peer(const struct ends_words *w)
{
	if (ends_by_ring(w))
		return w->rx & STREAM_FROZEN ? IN_FROZEN : IN_END;
	/* The peer had closed, to the program: that is what a reader gets. */
	if (w->rx & STREAM_RESET)
		return w->error == EPIPE ? IN_DRAIN : IN_RESET;
	/* A connection that is shut both ways is so to TCP, too, which knows
	 * what the peer did then. */
	if ((w->peer & (PRODUCER_SEALED | PRODUCER_CLOSED)) ||
	    w->tcp == ENDS_TCP_ENDED || (w->own & PRODUCER_SHUT))
		return IN_DRAIN;
	return w->peer & PRODUCER_SHUT ? IN_END : IN_RING;
}

enum ends_in ends_in(const struct ends_words *w)
{
	enum ends_in in;

	if (w->rx & STREAM_BROKEN)
		return IN_BROKEN;
	if (w->rx & STREAM_TCP)
		return IN_TCP;
	if (w->peer & PRODUCER_RECALLS)
		return IN_RECALLED;
	in = w->tcp == ENDS_TCP_SILENT ? in_told_by_peer(w) : in_of_peer(w);
	if (in != IN_RING)
		return in;
	if (w->rx & STREAM_SHUT)
		return IN_END;
	return w->rx & STREAM_FROZEN ? IN_FROZEN : IN_RING;
}

enum ends_out ends_out(const struct ends_words *w)
{
	if (w->tx & STREAM_SHUT)
		return OUT_SHUT;
	if (w->rx & STREAM_LEFT)
		return OUT_LEFT;
	if ((w->rx & STREAM_RESET) ||
	    ((w->rx & STREAM_ERROR_PENDING) && w->error))
		return OUT_RESET;
	if (w->tcp == ENDS_TCP_SILENT && ends_peer(w) >= PEER_CLOSED)
		return OUT_RESET;
	if (ends_peer(w) >= PEER_SHUT)
		return OUT_GONE;
	if (w->tx & STREAM_TCP)
		return OUT_TCP;
	return w->asked & CONSUMER_DEMOTE ? OUT_ASKED : OUT_RING;
}

/* ---- what an event changes ---- */

/* The FINs go out in the order in which the halves ended. The end of a half
 * that was sealed before is TCP's, as its bytes are. */
static struct ends_change shuts_out(const struct ends_words *w)
{
	struct ends_change c = {.tx = STREAM_SHUT};

	if (!(w->tx & STREAM_SHUT) && (w->peer & PRODUCER_FIN))
		c.tx |= STREAM_PEER_SHUT_FIRST;
	if (!(w->tx & STREAM_TCP))
		c.own = PRODUCER_FIN;
	return c;
}

static const struct ends_change changes[ENDS_EVENTS] = {
    [ENDS_SHUTS_IN] = {.rx = STREAM_SHUT},
    [ENDS_SHUTS_BOTH] = {.own = PRODUCER_SHUT},
    [ENDS_CLOSES] = {.own = PRODUCER_CLOSED},
    [ENDS_CLOSES_UNHEARD] = {.own = PRODUCER_CLOSED | PRODUCER_FIN},
    [ENDS_ABORTS] = {.own = PRODUCER_ABORTED},
    [ENDS_FIN_IS_DUE] = {.own = PRODUCER_HALVED},
    [ENDS_FIN_IS_SENT] = {.tx = STREAM_FIN_SENT},
    [ENDS_PEERS_FIN_IS_SENT] = {.rx = STREAM_FIN_SENT},
    [ENDS_DRAIN_IS_TOLD] = {.rx = STREAM_DRAIN_TOLD},
    [ENDS_ASKS_SEAL] = {.asks = CONSUMER_DEMOTE},
    [ENDS_ASKS_REST] = {.asks = CONSUMER_FROZEN},
    [ENDS_FREEZES] = {.rx = STREAM_FROZEN},
    [ENDS_THAWS] = {.rx_off = STREAM_FROZEN},
    [ENDS_RECALLS] = {.own = PRODUCER_RECALLS},
    [ENDS_RECALLS_NOT] = {.own_off = PRODUCER_RECALLS},
    [ENDS_PEER_RECALLS_NOT] = {.peer_off = PRODUCER_RECALLS},
    [ENDS_SEALS] = {.tx = STREAM_TCP, .own = PRODUCER_SEALED},
    [ENDS_WRITES_TCP] = {.tx = STREAM_TCP},
    [ENDS_READS_TCP] = {.rx = STREAM_TCP},
    [ENDS_BEGINS] = {.sets_tcp = true, .tcp = ENDS_TCP_OPEN},
    [ENDS_PEER_ENDS] = {.sets_tcp = true, .tcp = ENDS_TCP_ENDED},
    [ENDS_PEER_RESETS] = {.rx = STREAM_RESET},
    [ENDS_PEER_BREAKS] = {.rx = STREAM_BROKEN},
    [ENDS_PEER_LEAVES] = {.rx = STREAM_LEFT},
    [ENDS_LEFT_IS_OVER] = {.rx_off = STREAM_LEFT},
    [ENDS_OWES_ERROR] = {.rx = STREAM_ERROR_PENDING},
    [ENDS_ERROR_IS_TOLD] = {.rx_off = STREAM_ERROR_PENDING},
};

struct ends_change ends_change(const struct ends_words *w, enum ends_event e)
{
	if (e == ENDS_SHUTS_OUT)
		return shuts_out(w);
	if (changes[e].sets_tcp && w->tcp == ENDS_TCP_SILENT)
		return (struct ends_change){0};
	return changes[e];
}
