/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/spin_machine.h"

#include <criterion/criterion.h>

#define LIMIT_US 50u
#define SHORT_NS 60000u
#define LONG_NS  500000u

static bool spins(uint32_t *score)
{
	return spin_budget(score, LIMIT_US) > 0;
}

/* How many of so many waits, each of which took so long, began with a spin. */
static int in_vain(uint32_t *score, int waits, uint64_t waited_ns)
{
	int n = 0;

	while (waits-- > 0) {
		if (!spins(score))
			continue;
		n++;
		spin_score_missed(score, waited_ns, false);
	}
	return n;
}

Test(spin, short_waits_count_in_its_favour)
{
	uint32_t score = 0;

	cr_assert_eq(in_vain(&score, 7, SHORT_NS), 7);
	cr_assert_eq(spin_budget(&score, LIMIT_US), 50000);
}

Test(spin, long_waits_count_against_it)
{
	uint32_t score = 0;

	cr_assert_eq(in_vain(&score, 10, LONG_NS), 10);
	cr_assert_eq(spin_budget(&score, LIMIT_US), 2000);
}

Test(spin, what_never_comes_in_time_is_awaited_asleep)
{
	uint32_t score = 0;
	int n = in_vain(&score, 100000, SHORT_NS);

	/* Two of each 258 waits, when it has learnt. */
	cr_assert_gt(n, 100000 / 258);
	cr_assert_lt(n, 100000 / 100);
}

Test(spin, what_comes_once_is_awaited_awake_again)
{
	uint32_t score = 0;

	in_vain(&score, 100000, SHORT_NS);
	while (!spins(&score))
		;
	spin_score_hit(&score);
	cr_assert_eq(in_vain(&score, 8, SHORT_NS), 8);
}

Test(spin, there_is_none_where_it_is_switched_off)
{
	uint32_t score = 0;

	cr_assert_eq(spin_budget(&score, 0), 0);
}

/* ---- one spin, on a clock of our own ---- */

static struct contention nobody;

/* What ends a spin whose steps take so long, and how many those are. */
static int steps(struct spin *s, struct contention *c, uint64_t step_ns,
		 uint64_t yield_ns, uint64_t *now)
{
	int n = 0;

	for (;;) {
		*now += step_ns;
		spin_waited(s, c, *now);
		n++;
		if (spin_goes_on(s, c) == SPIN_YIELDS) {
			*now += yield_ns;
			spin_yielded(s, c, *now);
		}
		if (spin_goes_on(s, c) == SPIN_ENDS)
			return n;
	}
}

Test(spin, ends_when_its_budget_is_spent)
{
	struct spin s = {.budget_ns = 50000};
	uint64_t now = 1000;

	cr_assert(spin_starts(&s, &nobody, UINT64_MAX, now));
	cr_assert_eq(steps(&s, &nobody, 1000, 100, &now), 50);
}

Test(spin, ends_with_the_programs_time)
{
	struct spin s = {.budget_ns = 50000};
	uint64_t now = 1000;

	cr_assert(spin_starts(&s, &nobody, now + 10000, now));
	cr_assert_eq(steps(&s, &nobody, 1000, 100, &now), 10);
}

/* What another thread took of the processor is not counted. */
Test(spin, does_not_pay_for_what_it_yields)
{
	struct spin s = {.budget_ns = 50000, .shares = true};
	struct contention c = {.given_back = true};
	uint64_t now = 1000;
	int n;

	cr_assert(spin_starts(&s, &c, UINT64_MAX, now));
	n = steps(&s, &c, 1000, 20000, &now);
	cr_assert_geq(n, 50000 / (1000 + CONTENTION_NOBODY_NS));
	cr_assert_gt(now, 400000);
}

Test(spin, sleeps_beside_a_thread_that_computes)
{
	struct spin s = {.budget_ns = 50000, .shares = true};
	struct contention c = {0};

	contention_note_yield(&c, 4 * CONTENTION_LATE_NS, 5000000);
	cr_assert_not(spin_starts(&s, &c, UINT64_MAX, 5000000));
	s.shares = false;
	cr_assert(spin_starts(&s, &c, UINT64_MAX, 5000000));
}
