/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sock_diag: asks the kernel which socket of this network namespace has the
 * given addresses (sock_diag(7), as ss does). Needs no privileges.
 *
 * Locking: none; each call has a netlink socket of its own.
 */
#ifndef SMC_R_SOCK_DIAG_H
#define SMC_R_SOCK_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct sock_diag_socket {
	uint64_t cookie; /* SO_COOKIE */
	uint32_t inode;  /* as /proc/<pid>/fd shows it */
};

/* The TCP socket whose own address is `own` and whose peer is `other`. 0,
 * -ENOENT when there is none, -errno. */
int sock_diag_find(const struct sockaddr_storage *own,
		   const struct sockaddr_storage *other,
		   struct sock_diag_socket *out);

/* What the kernel answered: 0, -ENOENT. */
int sock_diag_decode(const void *answer, size_t size,
		     struct sock_diag_socket *out);

/* The one at the other end of our socket; -ENOTCONN when that has none. */
int sock_diag_peer_of(int fd, struct sock_diag_socket *out);

/* Is ours one of this network namespace? */
bool sock_diag_is_here(int fd);

#endif
