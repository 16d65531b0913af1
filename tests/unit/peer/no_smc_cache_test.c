/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/peer/no_smc_cache.h"

#include <criterion/criterion.h>
#include <unistd.h>

#define PORT  8080
#define TRIES 100 /* a busy machine may let the time pass between two calls */

/* Asked, connected, and at once looked at. */
static bool meet(uint16_t port)
{
	bool known = false;

	for (int i = 0; i < TRIES && !known; i++) {
		no_smc_cache_note(port, false);
		no_smc_cache_confirm(port);
		known = no_smc_cache_has(port);
	}
	return known;
}

Test(no_smc_cache, is_known_by_a_connection)
{
	cr_assert_not(no_smc_cache_has(PORT));
	no_smc_cache_note(PORT, false);
	cr_assert_not(no_smc_cache_has(PORT));
	cr_assert(meet(PORT));
	cr_assert_not(no_smc_cache_has(PORT + 1));
}

Test(no_smc_cache, a_connection_alone_proves_nothing)
{
	no_smc_cache_confirm(PORT);
	cr_assert_not(no_smc_cache_has(PORT));
	no_smc_cache_note(PORT, false);
	no_smc_cache_confirm(PORT + 1);
	cr_assert_not(no_smc_cache_has(PORT));
}

Test(no_smc_cache, is_asked_for_again)
{
	cr_assert(meet(PORT));
	for (int i = 0; i < 3; i++) {
		usleep(1000 * NO_SMC_CACHE_MS / 2);
		no_smc_cache_confirm(PORT);
	}
	cr_assert_not(no_smc_cache_has(PORT));
}

/* The first one that asks when the time is over is the only one. */
Test(no_smc_cache, one_asks_for_all)
{
	bool others = false;

	for (int i = 0; i < TRIES && !others; i++) {
		cr_assert(meet(PORT));
		usleep(1000 * (NO_SMC_CACHE_MS + 5));
		cr_assert_not(no_smc_cache_has(PORT));
		others = no_smc_cache_has(PORT);
		/* It is told the same. */
		no_smc_cache_note(PORT, false);
		others = others && no_smc_cache_has(PORT);
	}
	cr_assert(others);
}

/* It is told that it has changed, or cannot connect. */
Test(no_smc_cache, is_dropped)
{
	cr_assert(meet(PORT));
	no_smc_cache_drop(PORT + 1);
	cr_assert(meet(PORT));
	no_smc_cache_drop(PORT);
	cr_assert_not(no_smc_cache_has(PORT));
}

Test(no_smc_cache, is_forgotten)
{
	cr_assert(meet(PORT));
	no_smc_cache_clear();
	cr_assert_not(no_smc_cache_has(PORT));
}

Test(no_smc_cache, port_0_is_none)
{
	cr_assert_not(no_smc_cache_has(0));
}

Test(no_smc_cache, tells_who_refuses)
{
	no_smc_cache_note(PORT, true);
	cr_assert(no_smc_cache_refuses(PORT));
	cr_assert_not(no_smc_cache_refuses(PORT + 1));
	cr_assert_not(no_smc_cache_has(PORT));
	no_smc_cache_confirm(PORT);
	cr_assert(no_smc_cache_refuses(PORT));
	cr_assert(meet(PORT));
	cr_assert_not(no_smc_cache_refuses(PORT));
}
