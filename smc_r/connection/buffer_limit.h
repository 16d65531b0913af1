/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * buffer_limit: how far a writer may get ahead of its reader, where the program
 * has set the sizes of the socket's buffers.
 *
 * On TCP a writer waits when its send buffer and what the peer can receive are
 * full: SO_SNDBUF, as getsockopt tells it, and half of the peer's SO_RCVBUF,
 * measured. A ring that is larger than both is filled no further. A writer that
 * never set SO_SNDBUF has a buffer that grows to megabytes, whatever its peer
 * receives into, and all of the ring; so this costs nothing where nobody asked.
 *
 * Either end tells its own size in the element, and then both directions' words
 * `allowed` are made from what both ends say. The kernel tells what was set by
 * SO_BUF_LOCK (Linux 5.14); without it nobody has set anything.
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_BUFFER_LIMIT_H
#define SMC_R_BUFFER_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/connection/connection.h"

/* Returns bytes for a writer with this SO_SNDBUF, 0 if it was not set, and a
 * reader with this SO_RCVBUF; 0: all of any ring. */
uint32_t buffer_limit_of(uint32_t sndbuf, uint32_t rcvbuf);

/* The connection has its element. Asks the kernel if SOCKET_BUFFERS says that
 * there is something to know, and tells the peer. */
void buffer_limit_tell(struct connection *c, int fd);

/* The program has changed a size. True: more may be written than before, and
 * own writers that sleep are to be told. */
bool buffer_limit_changed(struct connection *c, int fd);

#endif
