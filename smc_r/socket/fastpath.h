/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fastpath: the calls that most programs make most of the time: one buffer, and
 * bytes or room for it in the ring, of a connection about which there is
 * nothing else to know. In a conversation of short messages they are half of
 * the time.
 *
 * Whatever is not so plain is left to socket_io: then nothing was done, and the
 * result is 0.
 *
 * Locking: takes the stream lock itself. Safe in signal handlers.
 *
 * Plain is one buffer of up to 4096 bytes without flags. A reader that finds
 * nothing looks for a microsecond or two before it asks anything.
 */
#ifndef SMC_R_FASTPATH_H
#define SMC_R_FASTPATH_H

#include <stddef.h>
#include <sys/types.h>

#include "smc_r/connection/connection.h"

/* recv() and send(), with the flags that they may have. Bytes, or 0. A receive
 * that may wait does so for a microsecond or two. */
ssize_t fastpath_receive(struct connection *c, void *to, size_t want,
			 int flags);
ssize_t fastpath_send(struct connection *c, int fd, const void *from,
		      size_t want, int flags);

#endif
