/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>

#include "ofed_core/pure/busy_poll.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define T0 (1000 * MS)

/* For how long a wait that begins now stays awake. */
static uint64_t budget(const struct busy_poll *a, uint64_t now)
{
	uint64_t ns = 0;

	while (busy_poll_may(a, now, now + ns))
		ns += 100;
	return ns;
}

Test(busy_poll, short_waits_teach_it_and_it_is_bounded)
{
	struct busy_poll a = {0};

	cr_assert_eq(budget(&a, T0), 2 * US);
	busy_poll_learn(&a, 10 * US);
	cr_assert_eq(budget(&a, T0), 5 * US);
	for (int i = 0; i < 100; i++)
		busy_poll_learn(&a, 100 * US);
	cr_assert_eq(budget(&a, T0), 50 * US);
}

Test(busy_poll, long_waits_end_it_soon)
{
	struct busy_poll a = {0};

	for (int i = 0; i < 100; i++)
		busy_poll_learn(&a, 1 * US);
	for (int i = 0; i < 5; i++)
		busy_poll_learn(&a, 10 * MS);
	cr_assert_eq(budget(&a, T0), 2 * US);
}

Test(busy_poll, beside_a_thread_that_computes_it_sleeps_at_once)
{
	struct busy_poll a = {0};

	for (int i = 0; i < 100; i++)
		busy_poll_learn(&a, 1 * US);
	busy_poll_stepped(&a, T0, T0 + 10 * US);
	cr_assert_eq(budget(&a, T0), 50 * US);
	busy_poll_stepped(&a, T0 - 5 * MS, T0 - 1 * MS);
	busy_poll_stepped(&a, T0, T0 + 4 * MS);
	cr_assert_eq(budget(&a, T0 + 4 * MS), 0);
	cr_assert_eq(budget(&a, T0 + 23 * MS), 0);
	cr_assert_eq(budget(&a, T0 + 24 * MS), 50 * US);
}

Test(busy_poll, a_processor_that_is_away_now_and_then_is_not_shared)
{
	struct busy_poll a = {0};

	for (int i = 0; i < 100; i++)
		busy_poll_learn(&a, 1 * US);
	for (int i = 0; i < 100; i++) {
		uint64_t now = T0 + 20 * i * MS;

		busy_poll_stepped(&a, now, now + 1 * MS);
		cr_assert_eq(budget(&a, now + 1 * MS), 50 * US);
	}
}

Test(busy_poll, tries_again_less_and_less_often_until_all_is_well)
{
	struct busy_poll a = {0};
	uint64_t now = T0;
	uint64_t pause = 20 * MS;

	for (int i = 0; i < 10; i++) {
		busy_poll_stepped(&a, now, now + 4 * MS);
		cr_assert_not(busy_poll_is_crowded(&a, now + 4 * MS));
		now += 9 * MS;
		busy_poll_stepped(&a, now - 4 * MS, now);
		cr_assert(busy_poll_is_crowded(&a, now + pause - 1));
		cr_assert_not(busy_poll_is_crowded(&a, now + pause));
		now += pause;
		if (pause < 640 * MS)
			pause *= 2;
	}
	cr_assert_eq(pause, 640 * MS);
	busy_poll_stepped(&a, now, now + 1 * US);
	now += 1000 * MS;
	busy_poll_stepped(&a, now, now + 1 * US);
	busy_poll_stepped(&a, now, now + 1 * MS);
	busy_poll_stepped(&a, now + 1 * MS, now + 2 * MS);
	cr_assert(busy_poll_is_crowded(&a, now + 2 * MS + 19 * MS));
	cr_assert_not(busy_poll_is_crowded(&a, now + 2 * MS + 20 * MS));
}
