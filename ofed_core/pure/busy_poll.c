/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * busy_poll: whether a thread that waits polls before it sleeps.
 */
#include "ofed_core/pure/busy_poll.h"

/* In ns. */
#define SPIN_MAX    50000
#define SPIN_MIN    2000
#define SPIN_STEP   5000
#define SHORT_WAIT  120000
#define LATE        100000
#define OFTEN       10000000
#define CROWDED_MIN 20000000
#define CROWDED_MAX 640000000

bool busy_poll_is_crowded(const struct busy_poll *b, uint64_t now)
{
	return now < b->crowded_until;
}

bool busy_poll_may(const struct busy_poll *b, uint64_t begin, uint64_t now)
{
	uint32_t spin = b->spin_ns < SPIN_MIN ? SPIN_MIN : b->spin_ns;

	return !busy_poll_is_crowded(b, now) && now - begin < spin;
}

void busy_poll_stepped(struct busy_poll *b, uint64_t before, uint64_t now)
{
	bool is_seldom;

	if (now - before < LATE) {
		if (now >= b->crowded_until + CROWDED_MAX)
			b->crowded_ns = 0;
		return;
	}
	/* Once, that may be an interrupt, or the host of a virtual machine. */
	is_seldom = now - b->late_at > OFTEN;
	b->late_at = now;
	if (is_seldom)
		return;
	if (b->crowded_ns < CROWDED_MIN)
		b->crowded_ns = CROWDED_MIN;
	b->crowded_until = now + b->crowded_ns;
	if (b->crowded_ns < CROWDED_MAX)
		b->crowded_ns *= 2;
}

void busy_poll_learn(struct busy_poll *b, uint64_t waited_ns)
{
	if (waited_ns < SHORT_WAIT)
		b->spin_ns += SPIN_STEP;
	else
		b->spin_ns /= 2;
	if (b->spin_ns > SPIN_MAX)
		b->spin_ns = SPIN_MAX;
}
