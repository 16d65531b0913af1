/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/unheard.h"

#include <criterion/criterion.h>

#define PORT 8080

static struct unheard u;

Test(unheard, those_that_spoke_do_not_count)
{
	cr_assert_eq(unheard_begin(&u, PORT, 5000), 1);
	cr_assert_eq(unheard_begin(&u, PORT, 5300), 2);
	cr_assert_eq(unheard_begin(&u, PORT + 1, 5300), 1);
	unheard_end(&u, PORT, 5000);
	cr_assert_eq(unheard_begin(&u, PORT, 5301), 2);
}

Test(unheard, those_that_are_silent_for_long_do_not_count)
{
	for (uint32_t i = 1; i <= UNHEARD_MAX; i++)
		cr_assert_eq(unheard_begin(&u, PORT, 5000), i);
	cr_assert_eq(unheard_begin(&u, PORT, 5700), UNHEARD_MAX + 1);
	cr_assert_eq(unheard_begin(&u, PORT, 5000 + UNHEARD_MS), 2);
}

Test(unheard, one_that_speaks_late_takes_nothing_from_others)
{
	unheard_begin(&u, PORT, 5000);
	cr_assert_eq(unheard_begin(&u, PORT, 5000 + UNHEARD_MS), 1);
	unheard_end(&u, PORT, 5000);
	cr_assert_eq(unheard_begin(&u, PORT, 5001 + UNHEARD_MS), 2);
}
