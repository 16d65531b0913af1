/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_shutdown: halves of a connection that end.
 *
 * Locking: the stream's lock for a moment; no other.
 */
#ifndef SMC_R_SOCKET_SHUTDOWN_H
#define SMC_R_SOCKET_SHUTDOWN_H

#include "smc_r/connection/connection.h"

/* shutdown(); libc's result, or SOCKET_KERNEL of socket_io.h. */
int socket_shutdown(struct connection *c, int fd, int how);
/* The state of TCP (tcp(7), TCP_INFO) once a direction was shut on the ring,
 * which the kernel did not see; 0 when the kernel knows best. */
int socket_shut_state(struct connection *c);

#endif
