/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_near: the wire half of a connection tells the near half what happened.
 * These never call back into the wire half, but set what it is to do next.
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_NEAR_H
#define SMC_R_RC_NEAR_H

#include "smc_r/service/rc_conn.h"

enum rc_outcome {
	RC_OUTCOME_SMC,    /* RC_CONN_ACTIVE: the stream carries no byte more */
	RC_OUTCOME_TCP,    /* RC_CONN_TCP: both directions are TCP's */
	RC_OUTCOME_BROKEN, /* RC_CONN_OVER: the TCP stream is unusable */
};

/* The near half, as the wire half calls it. */
struct rc_near_calls {
	void (*outcome)(struct rc_conn *c, enum rc_outcome outcome,
			uint32_t reason, uint32_t peer_reason);
	void (*peer)(struct rc_conn *c, int error);
	void (*moved)(struct rc_conn *c);
	void (*over)(struct rc_conn *c);
};

/* The handshake is over. reason: why not SMC (reason.h), peer_reason: what the
 * peer's Decline said; 0 for none. tcp is the near half's to close. */
static inline void rc_near_outcome(struct rc_conn *c, enum rc_outcome outcome,
				   uint32_t reason, uint32_t peer_reason)
{
	c->near->outcome(c, outcome, reason, peer_reason);
}

/* What the peer said of its end has changed: rc_stream_peer(). error: for the
 * program, where its end is a reset. */
static inline void rc_near_peer(struct rc_conn *c, int error)
{
	c->near->peer(c, error);
}

/* Bytes came from the peer, or room: the program may answer soon. */
static inline void rc_near_moved(struct rc_conn *c)
{
	c->near->moved(c);
}

/* RC_CONN_OVER, behind RC_CONN_ACTIVE: no key of the peer's leads to the rings
 * any more. The near half may free it, at a later time. */
static inline void rc_near_over(struct rc_conn *c)
{
	c->near->over(c);
}

#endif
