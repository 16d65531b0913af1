/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay: the last resort for unread bytes of the ring when a successor without
 * the engine follows, and nobody can send them over the connection: the peer is
 * gone, or may not be borrowed from, or TCP holds later bytes already. A new
 * connection to ourselves takes the place of the old one, with the same
 * addresses and other ports. It begins with those bytes. What TCP brings later,
 * and what the successor writes, a small process of its own copies from one to
 * the other; it is no child that the program could see, and ends with them.
 *
 * Locking: none; the reading direction is frozen.
 */
#ifndef SMC_R_RELAY_H
#define SMC_R_RELAY_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/*
 * shared: other processes of this end hold the connection as well and may read
 * it, ring and all. The relay then brings nothing before they let go of it.
 *
 * False when sockets, memory or a process are not to be had; fd and the ring
 * are as they were then.
 */
bool relay_start(struct connection *c, int fd, bool shared);

#endif
