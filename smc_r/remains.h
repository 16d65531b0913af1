/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * remains: unread bytes of a peer that is gone, for a successor without the
 * engine. Nobody is left to send them over the connection, so a new one that
 * holds them, and the end of the stream behind them, takes its place under the
 * same number. It has the same addresses, and other ports.
 *
 * Locking: none; the reading direction is frozen.
 */
#ifndef SMC_R_REMAINS_H
#define SMC_R_REMAINS_H

#include <stdbool.h>

#include "connection.h"

/* False when they do not fit into the buffers of a socket, or none is to be
 * had; fd is as it was then. */
bool remains_pass_on(struct connection *c, int fd);

#endif
