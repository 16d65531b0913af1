/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sleepers: who is asleep on a connection.
 *
 * One thread of those that sleep for a direction, the first, takes the rings of
 * its bell; the others look by the clock. It is named by its thread id, so that
 * one which was killed is found out. A thread may also leave a call otherwise
 * than it came: cancelled, which runs sleeper_end() as a cleanup handler, or by
 * longjmp from a signal handler, which its next sleep or close() here notices,
 * as the frame that slept then lies below the caller's on the stack.
 *
 * Locking: none; counters in the slot, and records of the thread's own.
 */
#ifndef SMC_R_SLEEPERS_H
#define SMC_R_SLEEPERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "status.h"

struct sleeper {
	struct status_stream *stream;
	_Atomic uint32_t *count; /* of the connection in this process */
};

/* s is on the stack of the caller. */
void sleeper_begin(struct sleeper *s, struct status_stream *stream,
		   _Atomic uint32_t *count);
/* struct sleeper; void, as a cleanup handler has it. */
void sleeper_end(void *s);

/* Ends the sleeps of this thread that it left by longjmp. */
void sleepers_reap(void);

/* In the child of a fork, after the counts of all connections were set to 0: of
 * the parent's threads only this one is there. */
void sleepers_forked(void);

/* Is the caller the first, or is it from now on? */
bool sleepers_first(struct status_stream *stream);

/* The same without a record, for who sleeps on many connections; the end says
 * whether it was the first. */
void sleepers_join(struct status_stream *stream);
bool sleepers_leave(struct status_stream *stream);

#endif
