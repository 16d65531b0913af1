/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * busy_poll: whether a thread that waits polls for a moment before it sleeps:
 * at most 50 us, only while that pays, and not beside a thread that
 * computes on the same processor.
 *
 * Pure: the times are the caller's, in ns of one clock. A struct that is all
 * zero is a new one. Locking: the owner's.
 *
 *	begin = now
 *	while nothing came and busy_poll_may(b, begin, now):
 *		before = now, sched_yield(), busy_poll_stepped(b, before, now)
 *	sleep if nothing came
 *	busy_poll_learn(b, now - begin)
 *
 * A thread that gets the processor back late twice within 10 ms is beside one
 * that computes, and sleeps at once from then on. One that was late once met an
 * interrupt, or the host of a virtual machine.
 */
#ifndef OFED_CORE_BUSY_POLL_H
#define OFED_CORE_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

struct busy_poll {
	uint32_t spin_ns;       /* how long to poll */
	uint32_t crowded_ns;    /* how long not, the next time */
	uint64_t crowded_until; /* not before */
	uint64_t late_at; /* the processor came back late, the last time */
};

bool busy_poll_is_crowded(const struct busy_poll *b, uint64_t now);
/* True while a wait that began then is better spent polling. */
bool busy_poll_may(const struct busy_poll *b, uint64_t begin, uint64_t now);

/*
 * The thread let others have its processor, and got it back. Late twice within
 * 10 ms: a thread that does not sleep shares it, beside which one is served
 * sooner when it sleeps and is woken. That is tried again after a while, which
 * doubles.
 */
void busy_poll_stepped(struct busy_poll *b, uint64_t before, uint64_t now);

/*
 * The wait, with its sleep if there was one, took so long. A short one is in
 * favour of polling even where that ended too early: two ends that both
 * sleep answer each other slowly only because they do.
 */
void busy_poll_learn(struct busy_poll *b, uint64_t waited_ns);

#endif
