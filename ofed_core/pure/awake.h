/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * awake: whether a thread that waits stays awake for a moment before it
 * sleeps: at most 50 us, only while that pays, and not beside a thread that
 * computes on the same processor.
 *
 * Pure: the times are the caller's, in ns of one clock. A struct that is all
 * zero is a new one. Locking: the owner's.
 *
 *	begin = now
 *	while nothing came and awake_may(a, begin, now):
 *		before = now, sched_yield(), awake_stepped(a, before, now)
 *	sleep if nothing came
 *	awake_learn(a, now - begin)
 *
 * A thread that gets the processor back late twice within 10 ms is beside one
 * that computes, and sleeps at once from then on. One that was late once met an
 * interrupt, or the host of a virtual machine.
 */
#ifndef OFED_CORE_AWAKE_H
#define OFED_CORE_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

struct awake {
	uint32_t spin_ns;       /* how long to stay awake */
	uint32_t crowded_ns;    /* how long not, the next time */
	uint64_t crowded_until; /* not before */
	uint64_t late_at; /* the processor came back late, the last time */
};

bool awake_is_crowded(const struct awake *a, uint64_t now);
/* True while a wait that began then is better spent awake. */
bool awake_may(const struct awake *a, uint64_t begin, uint64_t now);

/*
 * The thread let others have its processor, and got it back. Late twice within
 * 10 ms: a thread that does not sleep shares it, beside which one is served
 * sooner when it sleeps and is woken. That is tried again after a while, which
 * doubles.
 */
void awake_stepped(struct awake *a, uint64_t before, uint64_t now);

/*
 * The wait, with its sleep if there was one, took so long. A short one is in
 * favour of staying awake even where that ended too early: two ends that both
 * sleep answer each other slowly only because they do.
 */
void awake_learn(struct awake *a, uint64_t waited_ns);

#endif
