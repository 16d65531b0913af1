/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>

#include "smc_r/protocol/contention.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define T0 (1000 * MS)

Test(contention, a_stranger_is_asked_now_and_then)
{
	struct contention c = {0};

	cr_assert_not(contention_should_yield(&c, T0, 1 * US, false));
	cr_assert(contention_should_yield(&c, T0, 10 * US, false));
	cr_assert(contention_should_yield(&c, T0, 0, true));
}

Test(contention, who_gives_the_processor_back_gets_it_at_every_step)
{
	struct contention c = {0};

	contention_note_yield(&c, 15 * US, T0);
	cr_assert(contention_should_yield(&c, T0, 0, false));
	cr_assert_not(contention_is_bad(&c, T0));
	/* Nobody took it the next time. */
	contention_note_yield(&c, 400, T0);
	cr_assert_not(contention_should_yield(&c, T0, 0, false));
}

Test(contention, beside_a_thread_that_computes_the_processor_is_kept)
{
	struct contention c = {0};

	contention_note_yield(&c, 3 * MS, T0);
	cr_assert(contention_is_bad(&c, T0));
	cr_assert_not(contention_should_yield(&c, T0, 50 * US, true));
	cr_assert_not(contention_should_yield(&c, T0 + 19 * MS, 50 * US, true));
	cr_assert(contention_should_yield(&c, T0 + 21 * MS, 0, true));
}

/* From one late yield to the next that is tried. */
static uint64_t kept_for(struct contention *c, uint64_t *now)
{
	uint64_t from = *now;

	contention_note_yield(c, 3 * MS, from);
	while (!contention_should_yield(c, *now, 0, true))
		*now += 1 * MS;
	return (*now - from) / MS;
}

Test(contention, it_is_tried_ever_later_and_forgotten_in_the_end)
{
	struct contention c = {0};
	uint64_t now = T0;

	for (uint64_t ms = 20; ms <= 640; ms *= 2)
		cr_assert_eq(kept_for(&c, &now), ms);
	cr_assert_eq(kept_for(&c, &now), 640);
	contention_note_yield(&c, 400, now + 100 * MS);
	cr_assert_eq(kept_for(&c, &now), 640);
	contention_note_yield(&c, 400, now + 700 * MS);
	now += 700 * MS;
	cr_assert_eq(kept_for(&c, &now), 20);
}
