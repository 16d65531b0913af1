/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * send_for_peer: sends over TCP what a frozen reader left in its ring, when the
 * writer is busy elsewhere and will not come to do it. The writer's TCP socket
 * is borrowed from its process for that (pidfd_getfd(2)), which takes the
 * rights to trace it: the same user, and Yama willing.
 *
 * The writer and the process that sends for it are kept apart by the word
 * `rest` of the ring's consumer.
 *
 * Locking: none while the reading direction is frozen; else the engine lock.
 */
#ifndef SMC_R_SEND_FOR_PEER_H
#define SMC_R_SEND_FOR_PEER_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* True: all of it, and the end of the stream where the program had set one, is
 * on its way over TCP. False: the writer still owes it. */
bool send_for_peer_rest(struct connection *c, int fd);

/* Sends the FIN of a half that the peer has shut and we have read to its end,
 * in the peer's place (half_close.h). True: it is out. */
bool send_for_peer_fin(struct connection *c, int fd);

#endif
