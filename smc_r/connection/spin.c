/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* spin: a wait that stays awake for a while. */
#include "smc_r/connection/spin.h"

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"

static __thread struct contention contention;

bool spin_begin(struct spin *s, uint32_t *score, bool shares, uint64_t until_ns)
{
	*s = (struct spin){.budget_ns = spin_budget(score, process.spin_us),
			   .shares = shares};
	return s->budget_ns > 0 &&
	       spin_starts(s, &contention, until_ns, sys_now_ns());
}

bool spin_step(struct spin *s)
{
	enum spin_step step;

	sys_relax();
	spin_waited(s, &contention, sys_now_ns());
	step = spin_goes_on(s, &contention);
	if (step != SPIN_YIELDS)
		return step == SPIN_GOES_ON;
	SYS_CALL3(SYS_sched_yield, 0, 0, 0);
	spin_yielded(s, &contention, sys_now_ns());
	return spin_goes_on(s, &contention) != SPIN_ENDS;
}

void spin_hit(uint32_t *score)
{
	segment_tally(spin_hits);
	spin_score_hit(score);
}

static void missed(uint32_t *score, const struct spin *s, uint64_t now)
{
	segment_count(spin_misses);
	spin_score_missed(score, now - s->start_ns,
			  contention_is_bad(&contention, now));
}

void spin_slept(uint32_t *score, const struct spin *s)
{
	if (s->start_ns)
		missed(score, s, sys_now_ns());
}

bool spin_for(uint32_t *score, bool shares, bool (*is_there)(const void *),
	      const void *what)
{
	struct spin s;

	if (!spin_begin(&s, score, shares, UINT64_MAX))
		return false;
	do {
		if (is_there(what)) {
			spin_hit(score);
			return true;
		}
	} while (spin_step(&s));
	missed(score, &s, s.now_ns);
	return false;
}
