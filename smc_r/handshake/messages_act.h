/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * messages_act: what the end of the stream, or an error of it, means to a
 * handshake. What follows from a message is messages_carry_out(), in
 * messages.h. Nobody but messages.c includes it.
 *
 * Locking: engine lock and the connection's rx lock held by the caller.
 */
#ifndef SMC_R_MESSAGES_ACT_H
#define SMC_R_MESSAGES_ACT_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* Was the socket reset? That leaves its end (EPIPE: behind the peer's FIN). A
 * client's program sees a close of the server: what it sends first still goes.
 */
bool messages_forgive_error(struct connection *c, int error);
/* The socket's pending error, which it has no more. */
int messages_take_error(int fd);

/* The end of the stream; or our own, which no word of the client's follows. */
void messages_end(struct connection *c, int fd, bool forgiven, uint64_t now);

#endif
