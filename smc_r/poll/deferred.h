/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * deferred: listeners with TCP_DEFER_ACCEPT.
 *
 * The kernel answers the SYN and drops the ACK that follows. So connect()
 * returns, but there is nothing to accept until the client's first bytes come,
 * or its end. When the time is over (the seconds of the option, rounded up to
 * 1, 3, 7, 15, 31 ... as SYN-ACKs would be repeated) the SYN-ACK goes out
 * again, and the ACK to it makes the connection. Accepted sockets do not
 * inherit the option; clearing it holds for SYNs that come later.
 *
 * The kernel would take a Proposal for the client's first bytes. So a client is
 * quiet: it sends its Proposal when it writes, or asks whether it can, and not
 * before. It knows that the listener defers from the mark (option.h). When the
 * kernel then gives the connection out, bytes are about to come; accept() waits
 * for them, so that a read that follows and does not wait finds them.
 *
 * A client that was quiet for QUIET_MS stays on TCP without a word: from the
 * first second on its connection may have been accepted, and be anybody's. The
 * server expects no Proposal any more, but would know one.
 *
 * Locking: none held.
 *
 * Bounds: accept() waits for these bytes where that pays (port_history.h), for
 * a quarter of the handshake's timeout at most.
 */
#ifndef SMC_R_DEFERRED_H
#define SMC_R_DEFERRED_H

/* Comes after accept() from such a listener. */
void deferred_accepted(int fd);

#endif
