/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bell: how one process wakes another that sleeps in the kernel.
 *
 * A bell is a pipe, and a ring is one byte. The sleeper has the reading end. It
 * sleeps in a blocking read: a signal without SA_RESTART ends that with EINTR,
 * one with SA_RESTART does not, just as for a read of the TCP socket. When the
 * peer dies, which held the only writing end, the end of the file ends the
 * sleep too; so no process keeps a writing end of a bell that it sleeps on.
 *
 * The ringer has opened the pipe for itself, for both directions and without
 * blocking. As it is a reader too it never meets SIGPIPE, and no flag that the
 * other side sets on its own descriptors makes it wait. But a ring does not
 * tell whether anybody is there to hear it.
 *
 * Each side of an element has two bells, one for bytes and one for room, as two
 * threads may sleep for one each. Where descriptors are scarce it has one for
 * both, and of two such threads one looks by the clock (sleepers.h). A pipe
 * takes half the time of a pair of AF_UNIX sockets, where taking a byte also
 * means to look for a thread that waits to write.
 *
 * A spurious ring costs one look; a missing one would be a hang. So a thread
 * that publishes something rings after it, and a thread that sleeps looks again
 * after arming.
 *
 * Hostile: what a peer sends may be any descriptor, and the peer may change the
 *          flags of those that it sent.
 *
 * Death: the end of TCP alone (ss -K) does not end a blocked read, as no call
 * that the kernel restarts waits for both a pipe and a socket. The bell of a
 * dead peer ends every sleep on it: a poll() that waits for something else then
 * leaves it out, and looks by the clock. tcp_end.h says when TCP is asked
 * whether anybody hears a ring.
 *
 * Descriptors: both ends' bells make four for a connection. They count as
 * scarce when the engine has an eighth of the hard limit of the process, or
 * 4096 (private_fd.c).
 */
#ifndef SMC_R_BELL_H
#define SMC_R_BELL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum bell_result {
	BELL_RUNG = 0,
	BELL_HUNG_UP = 1, /* nobody can ring any more */
	BELL_TIMEOUT = 2,
	/* -EINTR is a result as well */
};

/* The bells of one element, as one side has them; -1: none. A side that has one
 * bell for both has the same descriptor twice. */
struct bells {
	int data;      /* ours: bytes have come */
	int room;      /* ours: there is room again */
	int peer_data; /* the peer's, for us to ring */
	int peer_room;
};

#define BELLS_NONE      ((struct bells){-1, -1, -1, -1})
#define BELLS_APART     4 /* descriptors of a side */
#define BELLS_ONE       2 /* where one bell is for both */
#define BELLS_COUNT_MAX BELLS_APART

static inline bool bells_are_one(const struct bells *b)
{
	return b->data >= 0 && b->data == b->room;
}

/* Makes an element's bells of so many descriptors. *ours are private and ready.
 * *theirs are ordinary descriptors to be sent, in the peer's view, and to be
 * closed then. All are close-on-exec. 0, or -errno and neither has anything.
 * Engine lock held. */
int bells_make(struct bells *ours, struct bells *theirs, unsigned count);

/* The order in which they are sent; count: BELLS_APART or BELLS_ONE. */
void bells_to_fds(const struct bells *b, int *fds, unsigned count);
struct bells bells_of_fds(const int *fds, unsigned count);

/* Makes private descriptors that a peer sent ready for use: checks that they
 * are pipes and opens those that we ring. 0, or -EPROTO, -errno; they stay the
 * caller's in any case. Engine lock held. */
int bells_adopt(struct bells *b);

/*
 * lend, while other processes of this end use them, keeps them in a form that
 * cannot ring, so that the end of those processes is the end of the peer's
 * bells. take_back undoes that: what was rung meanwhile is gone. 0, or -errno:
 * then they can only be closed. Engine lock held.
 */
int bells_lend(const struct bells *b);
int bells_take_back(const struct bells *b);

/* Closes private ones: those of an element, or of the elements that have a bit
 * in `which`. */
void bells_close(struct bells *b);
void bells_close_all(struct bells *b, unsigned elements, uint32_t which);

/* Never blocks; a full bell needs no further ring. */
void bell_ring(int bell);

/* Rings a bell that is our own: another thread or process of this end sleeps on
 * it. Needs no free descriptor. */
void bell_ring_own(int bell);

/* Sleeps until a ring; timeout NULL: for ever, as a restartable read. A stop of
 * the process does not end it. A cancellation point. */
int bell_wait(int bell, const struct timespec *timeout);
/* Sleeps as bell_wait() does, but any handler ends it with -EINTR, and so does
 * a stop. */
int bell_wait_once(int bell, const struct timespec *timeout);

/* They tell how many rings are there, and take so many of them, without
 * sleeping. */
int bell_rings(int bell);
void bell_take(int bell, int rings);

/* Takes what is there, without sleeping; but no more than an honest peer rings.
 * True when nobody can ring any more. A monitor (bell_monitor.h) takes nothing,
 * and has heard it then. */
bool bell_drain(int bell);

#endif
