/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * first_burst: what a client has to say first is heard in one piece.
 *
 * On TCP a client connects and writes while its acceptor is being woken. So the
 * acceptor finds as a whole what was written in pieces, and some programs count
 * on that. Here the first write waits for the acceptor, which is awake then and
 * would read the first piece before there is a second. So the client says that
 * it goes on writing, until it waits for anything else. When the handshake is
 * over the server waits for the end of that, no longer than a spin.
 *
 * Only for clients that wait in a write: others have more than one connection,
 * and do not come back soon to the one they wrote to.
 *
 * Locking: none.
 */
#ifndef SMC_R_FIRST_BURST_H
#define SMC_R_FIRST_BURST_H

#include "smc_r/connection/connection.h"

/* The client: its first write has to wait, in this thread. */
void first_burst_begin(struct connection *c);
/* Its Confirm is sent now. */
void first_burst_announce(struct connection *c);
/* This thread is about to wait for something. */
void first_burst_end(void);

/* The server: the Confirm has come. */
void first_burst_await(struct connection *c);

#endif
