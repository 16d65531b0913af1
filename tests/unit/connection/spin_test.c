/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/connection/spin.h"

#include <criterion/criterion.h>

#include "smc_r/os/process.h"

#define SHORT_NS 60000u
#define LONG_NS  500000u

static void setup(void)
{
	process.spin_us = 50;
}

TestSuite(spin, .init = setup, .timeout = 20);

static bool spins(uint32_t *score)
{
	struct spin s;

	return spin_begin(&s, score, false, UINT64_MAX);
}

/* How many of so many waits, each of which took so long, began with a spin. */
static int in_vain(uint32_t *score, int waits, uint64_t waited_ns)
{
	int n = 0;

	while (waits-- > 0) {
		if (!spins(score))
			continue;
		n++;
		spin_missed(score, waited_ns);
	}
	return n;
}

static uint64_t budget(uint32_t *score)
{
	struct spin s;

	spin_begin(&s, score, false, UINT64_MAX);
	return s.budget_ns;
}

Test(spin, short_waits_count_in_its_favour)
{
	uint32_t score = 0;

	cr_assert_eq(in_vain(&score, 7, SHORT_NS), 7);
	cr_assert_eq(budget(&score), 50000);
}

Test(spin, long_waits_count_against_it)
{
	uint32_t score = 0;

	cr_assert_eq(in_vain(&score, 10, LONG_NS), 10);
	cr_assert_eq(budget(&score), 2000);
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
	spin_hit(&score);
	cr_assert_eq(in_vain(&score, 8, SHORT_NS), 8);
}

Test(spin, there_is_none_where_it_is_switched_off)
{
	uint32_t score = 0;

	process.spin_us = 0;
	cr_assert_not(spins(&score));
}
