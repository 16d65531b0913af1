/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * peer_socket: asks the kernel which socket of this network namespace has the
 * given addresses (sock_diag, as ss does). Needs no privileges.
 */
#ifndef SMC_R_PEER_SOCKET_H
#define SMC_R_PEER_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>

/* The cookie (SO_COOKIE) of the TCP socket whose own address is `own` and
 * whose peer is `other`. 0, -ENOENT when there is none, -errno. */
int peer_socket_cookie(const struct sockaddr_storage *own,
		       const struct sockaddr_storage *other, uint64_t *cookie);

#endif
