/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tcp_end: what TCP tells of the peer's end.
 *
 * The kernel closes connections: its FIN, or a reset, is the end of a peer that
 * said nothing of it in the ring. Whether it closed with bytes unread, as TCP
 * would tell by a reset, the cursors say.
 *
 * Locking: none; what is found out is stored once, by atomic words. errno
 * stays.
 */
#ifndef SMC_R_TCP_END_H
#define SMC_R_TCP_END_H

#include <stdbool.h>

#include "connection.h"

/* Has the kernel seen the peer's FIN, or a reset? Remembered once true. */
bool tcp_has_ended(struct connection *c, int fd);
/* For programs that only ever call without waiting: the kernel must be asked
 * now and then, or the death of a peer would go unnoticed. By the clock, which
 * is looked at every few calls in vain. */
bool tcp_ended_now_and_then(struct connection *c, int fd);
/* Takes the socket's pending error (SO_ERROR) as TCP would have it. */
int tcp_error(struct connection *c, int fd);
/* The same for an error that was taken already. */
int tcp_error_of(struct connection *c, int error);
/* One waits to be told. A call that has moved bytes leaves it to the next one;
 * the kernel would give it to who asks now. */
bool tcp_error_waits(int fd);

/* For a call that sends and may never have to wait: a reader that died leaves
 * room for many small writes, of which TCP would take no more than one. One
 * that slept does not move when it is rung for. */
#define SENDS_A_LOOK 64
void output_ask(struct connection *c, int fd);
static inline void output_watch(struct connection *c, int fd)
{
	if (__builtin_expect(!(++c->sends % SENDS_A_LOOK) || c->unheard, 0))
		output_ask(c, fd);
}

#endif
