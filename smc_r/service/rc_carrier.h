/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_carrier: the TCP stream under a handshake. The socket is a duplicate of a
 * program's, which shares flags with it: so no call waits, and none changes a
 * flag or takes a byte that is not of a CLC message.
 *
 * Locking: none.
 */
#ifndef SMC_R_RC_CARRIER_H
#define SMC_R_RC_CARRIER_H

#include <stddef.h>
#include <sys/types.h>

/* Copies the head of the stream and leaves it there: bytes; 0, the peer has
 * ended; -EAGAIN; -errno, the stream is broken. */
ssize_t rc_carrier_peek(int tcp, void *out, size_t n);

/* Takes bytes that a peek has shown. 0 or -errno. */
int rc_carrier_take(int tcp, size_t n);

/* Sends all of it: 0; -errno, the stream is broken. The first bytes of a stream
 * always have room. */
int rc_carrier_send(int tcp, const void *bytes, size_t n);

#endif
