/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spin_machine: how long a wait may stay awake before it sleeps, learnt from
 * how waits ended, and whether it goes on doing so.
 *
 * A score is kept beside what is waited for; 0 is a new one. A short wait that
 * ended in a sleep counts in favour of spinning, as two ends that both sleep
 * are slow only because they do. Eight spins in a row that ended in vain mean
 * that what is awaited has a pace of its own; then most waits begin asleep.
 *
 * Pure: the times are the caller's, in ns of one clock.
 * Locking: none; two threads that share a score only blur it.
 */
#ifndef SMC_R_SPIN_MACHINE_H
#define SMC_R_SPIN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/protocol/contention.h"

struct spin {
	uint64_t start_ns; /* 0: there was none */
	uint64_t now_ns;   /* as of the last step */
	uint64_t spent_ns; /* processor time */
	uint64_t kept_ns;  /* since the last yield */
	uint64_t budget_ns;
	uint64_t until_ns;
	bool shares; /* the thread that we wait for shares our processor */
};

/* What a wait that is awake does next. */
enum spin_step {
	SPIN_GOES_ON,
	SPIN_YIELDS, /* then spin_yielded(), and it asks again */
	SPIN_ENDS,
};

/* The score's budget, of `limit_us` at most, in ns; 0: this wait sleeps. */
uint64_t spin_budget(uint32_t *score, uint32_t limit_us);

/* False: the processor would be lost for a time slice. */
bool spin_starts(struct spin *s, const struct contention *c, uint64_t until_ns,
		 uint64_t now);
enum spin_step spin_goes_on(const struct spin *s, const struct contention *c);
/* Time passed without a yield, or with one. */
void spin_waited(struct spin *s, struct contention *c, uint64_t now);
void spin_yielded(struct spin *s, struct contention *c, uint64_t now);

/* The spin was ended by what it waited for. */
void spin_score_hit(uint32_t *score);
/* The spin was not, and the whole wait, with its sleep, took so long;
 * contended: beside a thread that computes. */
void spin_score_missed(uint32_t *score, uint64_t waited_ns, bool contended);

#endif
