/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * awake: whether a thread that waits stays awake before it sleeps.
 */
#include "ofed_core/pure/awake.h"

/* In ns. */
#define SPIN_MAX    50000
#define SPIN_MIN    2000
#define SPIN_STEP   5000
#define SHORT_WAIT  120000
#define LATE        100000
#define OFTEN       10000000
#define CROWDED_MIN 20000000
#define CROWDED_MAX 640000000

bool awake_is_crowded(const struct awake *a, uint64_t now)
{
	return now < a->crowded_until;
}

bool awake_may(const struct awake *a, uint64_t begin, uint64_t now)
{
	uint32_t spin = a->spin_ns < SPIN_MIN ? SPIN_MIN : a->spin_ns;

	return !awake_is_crowded(a, now) && now - begin < spin;
}

void awake_stepped(struct awake *a, uint64_t before, uint64_t now)
{
	bool is_seldom;

	if (now - before < LATE) {
		if (now >= a->crowded_until + CROWDED_MAX)
			a->crowded_ns = 0;
		return;
	}
	/* Once, that may be an interrupt, or the host of a virtual machine. */
	is_seldom = now - a->late_at > OFTEN;
	a->late_at = now;
	if (is_seldom)
		return;
	if (a->crowded_ns < CROWDED_MIN)
		a->crowded_ns = CROWDED_MIN;
	a->crowded_until = now + a->crowded_ns;
	if (a->crowded_ns < CROWDED_MAX)
		a->crowded_ns *= 2;
}

void awake_learn(struct awake *a, uint64_t waited_ns)
{
	if (waited_ns < SHORT_WAIT)
		a->spin_ns += SPIN_STEP;
	else
		a->spin_ns /= 2;
	if (a->spin_ns > SPIN_MAX)
		a->spin_ns = SPIN_MAX;
}
