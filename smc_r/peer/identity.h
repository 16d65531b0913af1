/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * identity: under which name other processes of this host find this one: the
 * peer ID of CLC messages (RFC 7609, A.2), and the rendezvous socket of that
 * name.
 *
 * Locking: engine lock held by the caller.
 * Fork:    a child begins without one, and makes another at its first need.
 */
#ifndef SMC_R_IDENTITY_H
#define SMC_R_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_ID_BYTES 8

/* Our peer ID. Makes it, and the rendezvous socket, at the first call: 0 or
 * -errno (-EAGAIN: no random bytes yet; those of segment_open and
 * rendezvous_listen). */
int identity_get(uint8_t id[PEER_ID_BYTES]);
/* Our peer ID, where identity_get has succeeded; zeros before. */
const uint8_t *identity_own(void);
/* The next channel that a server made to us: a private descriptor, -EAGAIN
 * where there is none, or -errno. identity_get has succeeded. */
int identity_accept(void);

/* In the child of a fork: the parent's name stays the parent's. */
void identity_forked(void);
/* At exit: the rendezvous socket's name goes. */
void identity_close(void);
/* The socket goes as well; the next need makes another name. */
void identity_give_back(void);
/* Has this process a rendezvous socket? */
bool identity_is_open(void);

/* n bytes of the kernel's random numbers. 0 or -EAGAIN. */
int identity_random(void *out, size_t n);

#endif
