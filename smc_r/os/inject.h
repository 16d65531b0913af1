/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * inject: naps at the places where a wake-up could be lost, and calls that
 * fail. Only the flavour "inject", which tests load, has them; elsewhere this
 * is nothing.
 *
 * SMC_R_FAIL is the address of an int of the program, in hexadecimal: each call
 * of the engine that could fail for want of memory or descriptors (sys.h, mmap,
 * pool.h) counts it down while it is above 0, and the one that makes it 0
 * fails.
 *
 * Invariants have numbers in the heads of rmb.h, stream.h and epoll_scan.h.
 *
 * The steps are those of the model in tests/model, which has a label of the
 * same name for each. A step names the gap behind what it says.
 */
#ifndef SMC_R_INJECT_H
#define SMC_R_INJECT_H

enum inject_step {
	/* The end that rings. */
	STEP_PUBLISHED, /* a cursor is stored; arms are looked at next */
	STEP_BIT_SET,   /* the element is marked ready */
	STEP_TAKEN,     /* an arm is taken; the bell is rung next */
	STEP_RUNG,      /* the bell is rung; the arm is dropped next */
	/* The end that sleeps in epoll_wait(). */
	STEP_COUNTED,   /* the bytes in a bell are counted */
	STEP_EMPTIED,   /* they are taken; arming follows */
	STEP_ARMED,     /* armed; the last look follows */
	STEP_LOOKED,    /* nothing is ready; the sleep follows */
	STEP_WOKEN,     /* the kernel has told; its signs are taken next */
	STEP_BIT_TAKEN, /* the mark is cleared; a second look follows */
	/* A thread that leaves an instance in which others sleep. */
	STEP_TOOK,   /* the signs of the instance are taken */
	STEP_PASSED, /* armed for the others; a look follows */
	/* Calls on a connection, and poll(). */
	STEP_DRAINED, /* the bell is empty; the place is given up next */
	STEP_SETTLED, /* the signs of a polled instance are taken */
};

#include <stdbool.h>

#ifdef SMC_R_INJECT
#include "smc_r/os/sys.h"

/* Is this the one that fails? */
bool inject_fails(void);

/* SMC_R_FAR is set: peers on this host count as those of other hosts. */
bool inject_is_far(void);

/* Now and then; mostly short, so that the other side just gets in between. */
static inline void inject_nap(void)
{
	uint64_t dice = sys_now_ns() * 0x9e3779b97f4a7c15u >> 32;
	struct timespec nap = {0, (long)(dice >> 8 & 0xff) * 1000};

	if (dice & 7)
		return;
	if (dice & 0x38)
		SYS_CALL3(SYS_sched_yield, 0, 0, 0);
	else
		SYS_CALL4(SYS_nanosleep, &nap, NULL, 0, 0);
}
/* An invariant that a header numbers does not hold: says which, and aborts. */
void inject_broken(const char *invariant);
#define INVARIANT(number, holds)                                               \
	do {                                                                   \
		if (!(holds))                                                  \
			inject_broken(number);                                 \
	} while (0)
#else
#define INVARIANT(number, holds) ((void)0)

static inline bool inject_fails(void)
{
	return false;
}

static inline bool inject_is_far(void)
{
	return false;
}

static inline void inject_nap(void)
{
}
#endif

static inline void inject_step(enum inject_step step)
{
	(void)step;
	inject_nap();
}

#endif
