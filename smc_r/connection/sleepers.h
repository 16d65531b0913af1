/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sleepers: threads that are asleep on a connection or in an epoll instance,
 * and the calls that slept there.
 *
 * One thread of those that sleep on a bell, the first, takes its rings; the
 * others look by the clock. It is named by its thread id, so that
 * one which was killed is found out. A thread may also leave a call otherwise
 * than it came: cancelled, which runs sleeper_end() as a cleanup handler, or by
 * longjmp from a signal handler, which its next sleep, close() or fork() here
 * notices, as the frame that slept then lies below the caller's on the stack.
 *
 * Locking: none; counters in the slot, and records of the thread's own.
 *
 * The first passes rings on to epoll instances that have the connection, as a
 * ring may be meant for those.
 */
#ifndef SMC_R_SLEEPERS_H
#define SMC_R_SLEEPERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/os/status.h"

/* A direction that is slept for. */
struct sleep_place {
	struct status_stream *stream;
	_Atomic uint32_t *first; /* first sleeper on the same bell */
};

/* A call that sleeps, perhaps several times; on the stack of that call. */
struct sleeper {
	_Atomic uint32_t *count;   /* how many such calls sleep */
	void (*over)(void *owner); /* may be NULL */
	/* The thread left its sleep and not by its end: cancelled, or by
	 * longjmp. What it took there may have been another one's. It may be
	 * NULL. */
	void (*astray)(void *owner);
	void *owner;
	bool begun;
};

/* It sleeps there; NULL: only the count counts. */
void sleeper_begin(struct sleeper *s, const struct sleep_place *place);
/* A sleep without a place may take what is meant for others as well. */
void sleeper_takes(struct sleeper *s);
/* It is awake, and goes on. */
void sleeper_wake(struct sleeper *s);
/* It is awake and no longer counted, but has not passed on yet what it may have
 * taken: until sleeper_wake() it can still go astray. */
void sleeper_owes(struct sleeper *s);
/* struct sleeper; void, as a cleanup handler has it. The call is over, and its
 * owner is told if it ever slept. Keeps errno. */
void sleeper_end(void *s);

/* Ends the sleeps of this thread that it left by longjmp. */
void sleepers_reap(void);

/* In the child of a fork, after the counts of all connections were set to 0: of
 * the parent's threads only this one is there. What counts the threads of both
 * counts it twice. */
void sleepers_forked(void);

/* Is the caller the first, or is it from now on? */
bool sleepers_first(struct sleep_place place);
/* Is there a first one, and does it live? */
bool sleepers_has_first(struct sleep_place place);

/* Joins without a record, for a thread that sleeps on many connections; the end
 * says whether it was the first. */
void sleepers_join(struct sleep_place place);
bool sleepers_leave(struct sleep_place place);

#endif
