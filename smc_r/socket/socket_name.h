/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_name: what a socket tells of a peer that has gone.
 *
 * A message of ours that meets a peer which has closed makes TCP reset the
 * connection. The programs know of no message: to them the peer has closed, and
 * no more; so it keeps its name, and there is no error.
 *
 * Locking: takes the engine lock.
 */
#ifndef SMC_R_SOCKET_NAME_H
#define SMC_R_SOCKET_NAME_H

#include <sys/socket.h>

#include "smc_r/connection/connection.h"

/* Is that so? For a call to which the kernel has said that TCP was reset. */
bool socket_was_left(struct connection *c, int fd);
/* getpeername() where the kernel says ENOTCONN. */
int socket_peer_name(struct connection *c, int fd, struct sockaddr *a,
		     socklen_t *n);

#endif
