/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* spin: how long a wait may stay awake before it sleeps. */
#include "spin.h"

#include "process.h"
#include "segment.h"

#define SHORT_WAIT_NS 120000u

uint64_t spin_budget(uint32_t *score)
{
	uint32_t us = *score ? *score - 1 : 20;

	if (process.spin_us == 0 || process.cpus < 2)
		return 0;
	if (*score == 0)
		*score = us + 1;
	return (us < process.spin_us ? us : process.spin_us) * 1000u;
}

static void spin_more(uint32_t *score)
{
	uint32_t us = *score ? *score - 1 : 20;

	*score = (us + 5 < 50 ? us + 5 : 50) + 1;
}

void spin_hit(uint32_t *score)
{
	segment_tally(spin_hits);
	spin_more(score);
}

/*
 * A short wait that ended in sleep all the same is no sign against spinning:
 * two ends that both sleep answer each other slowly only because they do. A
 * long one is; but never so low that a change would not be noticed.
 */
void spin_missed(uint32_t *score, uint64_t waited_ns)
{
	uint32_t us = *score ? *score - 1 : 20;

	segment_count(spin_misses);
	if (waited_ns < SHORT_WAIT_NS)
		spin_more(score);
	else
		*score = (us / 2 > 2 ? us / 2 : 2) + 1;
}
