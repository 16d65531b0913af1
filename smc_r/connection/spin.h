/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spin: a wait that stays awake for a while. Never more than 50 microseconds of
 * a processor; nothing when SMC_R_SPIN=0 says so. How long is learnt
 * (spin_machine.h).
 *
 * A spin lets other threads have the processor (contention.h): at every step
 * where that pays, and at any rate now and then. What they take is not counted;
 * so on a crowded processor nobody has to sleep and be woken.
 *
 * Locking: none; two threads that share a score only blur it.
 */
#ifndef SMC_R_SPIN_H
#define SMC_R_SPIN_H

#include "smc_r/protocol/spin_machine.h"

/* shares: the thread that we wait for was last seen on our processor. until_ns:
 * the end of the program's time-out, by sys_now_ns(), or UINT64_MAX. False:
 * sleep. */
bool spin_begin(struct spin *s, uint32_t *score, bool shares,
		uint64_t until_ns);
/* Comes between two looks, the first of which comes before it. False: sleep,
 * which begins with a look. */
bool spin_step(struct spin *s);

/* All of it, for a wait that looks at nothing else: did `is_there` come? */
bool spin_for(uint32_t *score, bool shares, bool (*is_there)(const void *what),
	      const void *what);

/* The spin was ended by what it waited for. */
void spin_hit(uint32_t *score);
/* The spin was not, and the wait is over now, with its sleep; if there was a
 * spin at all. */
void spin_slept(uint32_t *score, const struct spin *s);

#endif
