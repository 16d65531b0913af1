/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * deferred: listeners with TCP_DEFER_ACCEPT.
 *
 * The kernel answers the SYN and drops the ACK that follows, so that connect()
 * returns and there is nothing to accept, until the client's first bytes come,
 * or its end. When the time is over (the seconds of the option, rounded up to
 * 1, 3, 7, 15, 31 ... as SYN-ACKs would be repeated) the SYN-ACK goes out again
 * and the ACK to it makes the connection. Accepted sockets do not inherit the
 * option; clearing it holds for SYNs that come later.
 *
 * A Proposal would be taken for the client's first bytes. So a client is quiet:
 * it says it when it writes, or asks when it can, and not before. Whoever
 * listens on this host tells with its mark that it defers (option.h). Then the
 * kernel gives the connection out when there are bytes to come at once, and
 * accept() waits for them, that short time: who reads next without waiting
 * finds them.
 *
 * A client that was quiet for QUIET_MS stays on TCP without a word, as from the
 * first second on its connection may have been accepted, and be anybody's; the
 * server expects no Proposal any more, but would know one.
 *
 * Locking: none held.
 */
#ifndef SMC_R_DEFERRED_H
#define SMC_R_DEFERRED_H

/* After accept() from such a listener. */
void deferred_accepted(int fd);

#endif
