/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/port_history.h"

#include <criterion/criterion.h>
#include <stdbool.h>

#define PORT 8080

static struct grace g;

static bool is_full(uint16_t port, uint64_t now_ms)
{
	return grace_misses(&g, port, now_ms) == GRACE_MISSES;
}

/* As many misses as it takes, one after another; the time of the last. */
static uint64_t miss_all(uint64_t at, uint64_t each_ms)
{
	for (unsigned i = 0; i < GRACE_MISSES; i++) {
		cr_assert_eq(grace_misses(&g, PORT, at), i);
		grace_missed(&g, PORT, at, at + each_ms);
		at += each_ms;
	}
	return at;
}

Test(grace, it_ends_after_some_misses)
{
	uint64_t now = miss_all(5000, 10);

	cr_assert(is_full(PORT, now));
	cr_assert_not(is_full(PORT + 1, now));
}

Test(grace, it_is_given_again_after_a_while)
{
	uint64_t now = miss_all(5000, 10);

	/* Misses go on: they do not lengthen it. */
	grace_missed(&g, PORT, now, now + 500);
	cr_assert(is_full(PORT, 5010 + GRACE_MS - 1));
	miss_all(5010 + GRACE_MS, 10);
	cr_assert(is_full(PORT, 5010 + GRACE_MS + 30));
}

Test(grace, those_that_wait_beside_each_other_are_one)
{
	for (unsigned i = 0; i < 100; i++)
		grace_missed(&g, PORT, 5000 + i % 10, 5010 + i % 10);
	cr_assert_not(is_full(PORT, 5020));
	grace_missed(&g, PORT, 5020, 5030);
	cr_assert_not(is_full(PORT, 5030));
	grace_missed(&g, PORT, 5030, 5040);
	cr_assert(is_full(PORT, 5040));
}

Test(grace, an_answer_in_time_gives_it_back)
{
	uint64_t now = miss_all(5000, 10);

	grace_met(&g, PORT);
	cr_assert_not(is_full(PORT, now));
	miss_all(now, 10);
	cr_assert(is_full(PORT, now + 30));
}

Test(grace, times_may_be_large_and_waits_long)
{
	uint64_t now = 1ull << 40;

	grace_missed(&g, PORT, now, now + 900);
	grace_missed(&g, PORT, now + 900, now + 1800);
	grace_missed(&g, PORT, now + 1800, now + 1899);
	cr_assert(is_full(PORT, now + 1899));
	cr_assert_not(is_full(PORT, now + 1900));
	grace_missed(&g, PORT, now, now + 90000);
	cr_assert_not(is_full(PORT, now + 90000));
}

Test(pace, it_knows_when_a_port_was_answered_last)
{
	static struct pace p;

	cr_assert_eq(pace_last(&p, PORT), 0);
	pace_met(&p, PORT, 5000);
	pace_met(&p, PORT, 1ull << 40);
	cr_assert_eq(pace_last(&p, PORT), 1ull << 40);
	cr_assert_eq(pace_last(&p, PORT + 1), 0);
}
