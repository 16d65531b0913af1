/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_setup: the handshake of one connection (RFC 7609, 3.3 to 3.5): the machine
 * of CLC on the TCP stream, and what it waits for in a link group. In the end
 * the near half hears of an outcome, and the handshake is freed.
 *
 * Each of these may end it.
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_SETUP_H
#define SMC_R_RC_SETUP_H

#include "smc_r/protocol/clc.h"
#include "smc_r/service/rc_terms.h"

enum rc_setup_step {
	RC_SETUP_NEW,    /* CLC has not got to where something is prepared */
	RC_SETUP_WAITS,  /* for the group of another first contact */
	RC_SETUP_ASKS,   /* the peer about our key */
	RC_SETUP_FIRST,  /* a first contact: the link is not confirmed yet */
	RC_SETUP_LINK,   /* it is being confirmed */
	RC_SETUP_SECOND, /* it is; a client waits for the Add Link stage */
};

struct rc_setup {
	struct rc_setup *next;
	struct rc_conn *conn;
	struct clc clc;
	enum rc_setup_step step;
	uint64_t wait_ns; /* RC_SETUP_WAITS, at most until then */
	struct rc_terms terms;
};

void rc_setup_begin(struct rc_service *s, struct rc_conn *c, uint64_t now_ns);
void rc_setup_readable(struct rc_setup *u, uint64_t now_ns);
/* A group may have changed, or time has gone by. */
void rc_setup_step(struct rc_setup *u, uint64_t now_ns);
uint64_t rc_setup_next_ns(const struct rc_setup *u);
/* The service ends. */
void rc_setup_abort(struct rc_setup *u, uint32_t reason, uint64_t now_ns);

#endif
