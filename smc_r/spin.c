/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* spin: how long a wait may stay awake before it sleeps. */
#include "spin.h"

#include "company.h"
#include "process.h"
#include "segment.h"
#include "sys.h"

#define SHORT_WAIT_NS 120000u

/* A wait that yields is over by then, however much of it was others'. */
#define WALL_NS 2000000u

static __thread struct company company;

static uint64_t spin_budget(uint32_t *score)
{
	uint32_t us = *score ? *score - 1 : 20;

	if (process.spin_us == 0)
		return 0;
	if (*score == 0)
		*score = us + 1;
	return (us < process.spin_us ? us : process.spin_us) * 1000u;
}

bool spin_begin(struct spin *s, uint32_t *score, bool shares, uint64_t until_ns)
{
	*s = (struct spin){.budget_ns = spin_budget(score), .shares = shares};
	if (s->budget_ns == 0)
		return false;
	s->now_ns = sys_now_ns();
	if (shares && company_is_bad(&company, s->now_ns))
		return false;
	s->start_ns = s->now_ns;
	s->until_ns = s->start_ns + WALL_NS;
	if (until_ns < s->until_ns)
		s->until_ns = until_ns;
	return true;
}

static void yield(struct spin *s)
{
	uint64_t before = s->now_ns;
	uint64_t took;

	SYS_CALL3(SYS_sched_yield, 0, 0, 0);
	s->now_ns = sys_now_ns();
	took = s->now_ns - before;
	company_judge(&company, took, s->now_ns);
	s->spent_ns += took < COMPANY_NOBODY_NS ? took : COMPANY_NOBODY_NS;
	s->kept_ns = 0;
}

bool spin_step(struct spin *s)
{
	uint64_t before = s->now_ns;
	uint64_t took;

	sys_relax();
	s->now_ns = sys_now_ns();
	took = s->now_ns - before;
	s->spent_ns += took;
	s->kept_ns += took;
	if (took > COMPANY_LATE_NS)
		company_judge(&company, took, s->now_ns);
	if (company_wants(&company, s->now_ns, s->kept_ns, s->shares))
		yield(s);
	return s->spent_ns < s->budget_ns && s->now_ns < s->until_ns &&
	       !(s->shares && company_is_bad(&company, s->now_ns));
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
 * long one is; but never so low that a change would not be noticed. Nor beside
 * a thread that computes: there a wait is long as the peer's processor is taken
 * from it as well, and who spins no longer meets it when it is back.
 */
void spin_missed(uint32_t *score, uint64_t waited_ns)
{
	uint32_t us = *score ? *score - 1 : 20;

	segment_count(spin_misses);
	if (waited_ns < SHORT_WAIT_NS || company_is_bad(&company, sys_now_ns()))
		spin_more(score);
	else
		*score = (us / 2 > 2 ? us / 2 : 2) + 1;
}
