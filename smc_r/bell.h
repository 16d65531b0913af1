/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bell: how one process wakes another that sleeps in the kernel.
 *
 * A bell is one end of an AF_UNIX stream pair; a ring is one byte. Sleeping is
 * a blocking read: a signal without SA_RESTART ends it with EINTR, one with
 * SA_RESTART does not, just as for a read of the TCP socket. A peer that died
 * closed its end, which ends the sleep too.
 *
 * Each ring of bytes has its pair. Not one for bytes and one for room: who
 * takes a byte from a pair wakes whoever sleeps on its other end, as that may
 * wait to write; and after a request the client sleeps.
 *
 * A spurious ring costs one look; a missing one would be a hang. So whoever
 * publishes rings after the fact, and whoever sleeps looks again after arming.
 */
#ifndef SMC_R_BELL_H
#define SMC_R_BELL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum bell_result {
	BELL_RUNG = 0,
	BELL_HUNG_UP = 1, /* the peer's end is gone */
	BELL_TIMEOUT = 2,
	/* or -EINTR */
};

/* ours and peers are hidden, close-on-exec; 0 or -errno. */
int bell_pair(int *ours, int *theirs);

/* Never blocks; a full bell needs no further ring. False: it is dead, as nobody
 * holds its other end. */
bool bell_ring(int bell);

/* Sleeps until a ring; timeout NULL: for ever, as a restartable read. A
 * cancellation point. */
int bell_wait(int bell, const struct timespec *timeout);
/* The same for ever, but any handler ends it with -EINTR. */
int bell_wait_once(int bell);

/* How many rings are there, and takes so many of them, without sleeping. */
int bell_rings(int bell);
void bell_take(int bell, int rings);

/* Takes what is there, without sleeping. True when the peer hung up. */
int bell_drain(int bell);

#endif
