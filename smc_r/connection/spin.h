/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spin: how long a wait may stay awake before it sleeps, learnt from how
 * waits ended. Never more than 50 microseconds of a processor; nothing when
 * SMC_R_SPIN=0 says so.
 *
 * A spin lets other threads have the processor (contention.h): at every step
 * where that pays, and at any rate now and then. What they take is not counted;
 * so on a crowded processor nobody has to sleep and be woken.
 *
 * A score is kept beside what is waited for; 0 is a new one.
 *
 * Locking: none; two threads that share a score only blur it.
 *
 * A short wait that ended in a sleep counts in favour of spinning, as two ends
 * that both sleep are slow only because they do. Eight spins in a row that
 * ended in vain mean that what is awaited has a pace of its own; then most
 * waits begin asleep.
 */
#ifndef SMC_R_SPIN_H
#define SMC_R_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct spin {
	uint64_t start_ns; /* 0: there was none */
	uint64_t now_ns;   /* as of the last step */
	uint64_t spent_ns; /* processor time */
	uint64_t kept_ns;  /* since the last yield */
	uint64_t budget_ns;
	uint64_t until_ns;
	bool shares;
};

/* shares: the thread that we wait for was last seen on our processor. until_ns:
 * the end of the program's time-out, by sys_now_ns(), or UINT64_MAX. False:
 * sleep. */
bool spin_begin(struct spin *s, uint32_t *score, bool shares,
		uint64_t until_ns);
/* Comes between two looks, the first of which comes before it. False: sleep,
 * which begins with a look. */
bool spin_step(struct spin *s);

/* The spin was ended by what it waited for. */
void spin_hit(uint32_t *score);
/* The spin was not, and the whole wait, with its sleep, took so long. */
void spin_missed(uint32_t *score, uint64_t waited_ns);

#endif
