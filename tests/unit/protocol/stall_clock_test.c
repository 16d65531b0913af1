/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/stall_clock.h"

#include <criterion/criterion.h>

#define MS    1000000ull
#define LIMIT (500 * MS)

Test(stall_clock, runs_while_nothing_is_read)
{
	struct stall_clock k = {0};

	cr_assert(stall_clock_look(&k, 7, 1000 * MS));
	cr_assert_not(stall_clock_look(&k, 7, 1200 * MS));
	cr_assert_eq(stall_clock_left(&k, LIMIT, false, 1200 * MS), 300 * MS);
	cr_assert_eq(stall_clock_left(&k, LIMIT, false, 1500 * MS), 0);
}

Test(stall_clock, starts_anew_with_each_read)
{
	struct stall_clock k = {0};

	stall_clock_look(&k, 7, 1000 * MS);
	cr_assert(stall_clock_look(&k, 8, 1499 * MS));
	cr_assert_eq(stall_clock_left(&k, LIMIT, false, 1500 * MS), 499 * MS);
}

Test(stall_clock, is_short_where_both_wait)
{
	struct stall_clock k = {0};

	stall_clock_look(&k, 7, 1000 * MS);
	cr_assert_eq(stall_clock_left(&k, LIMIT, true, 1000 * MS), 50 * MS);
	stall_clock_end(&k);
	cr_assert_eq(stall_clock_left(&k, LIMIT, false, 1000 * MS), 0);
}

Test(stall_clock, knows_a_late_reader_that_has_read)
{
	struct stall_clock k = {0};

	cr_assert_not(stall_clock_was_late(&k, 100, 10, 1000 * MS));
	stall_clock_look(&k, 7, 1000 * MS);
	cr_assert_not(stall_clock_was_late(&k, 16, 10, 1002 * MS));
	cr_assert_not(stall_clock_was_late(&k, 17, 10, 1000 * MS));
	cr_assert(stall_clock_was_late(&k, 17, 10, 1001 * MS));
}
