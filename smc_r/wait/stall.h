/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stall: a full ring that nobody empties.
 *
 * TCP takes some megabytes before it makes a writer wait; a ring is smaller.
 * Two programs that both write before they read, or one that has both ends,
 * get along with TCP and would wait for ever here. So the time in which nothing
 * was read out of a full ring is limited, while somebody wants to write: after
 * that the connection goes back to TCP, which takes the rest.
 *
 * The limit is short where it is plain that nobody will read: the peer waits
 * for room as well, or is this process. A process with one thread that goes to
 * sleep for room it would have to make itself has no time to wait at all.
 *
 * Locking: none; its words are atomic. stall_is_over() may demote, so the
 *          caller holds no lock.
 *
 * Bounds: the limit is 0.5 s (SMC_R_STALL), and a tenth of it if the reader
 * waits for room as well.
 */
#ifndef SMC_R_STALL_H
#define SMC_R_STALL_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* There is no room, and somebody wants it. */
void stall_begin(struct connection *c);

/* There is no room, and nobody was told so yet. True: now there is, as the last
 * time the reader was late and the overflow ring is for that (overflow.h). */
bool stall_is_avoided(struct connection *c);

/* It is the same for a call that does not wait, filled the ring and has `left`
 * bytes: true if they are most of what the overflow ring holds. */
bool stall_is_avoided_at_once(struct connection *c, size_t left);

/* There is still no room. True: that is over, as the connection was demoted. */
bool stall_is_over(struct connection *c, int fd);

/* This thread goes to sleep. Milliseconds until that is over; -1 when nobody
 * waits. */
int stall_left_ms(struct connection *c);

#endif
