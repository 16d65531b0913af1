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
		plain_server_asked(port);
		plain_server_connected(port);
		known = plain_server_was_met(port);
	}
	return known;
}

Test(plain_server, is_known_by_a_connection)
{
	cr_assert_not(plain_server_was_met(PORT));
	plain_server_asked(PORT);
	cr_assert_not(plain_server_was_met(PORT));
	cr_assert(meet(PORT));
	cr_assert_not(plain_server_was_met(PORT + 1));
}

Test(plain_server, a_connection_alone_proves_nothing)
{
	plain_server_connected(PORT);
	cr_assert_not(plain_server_was_met(PORT));
	plain_server_asked(PORT);
	plain_server_connected(PORT + 1);
	cr_assert_not(plain_server_was_met(PORT));
}

Test(plain_server, is_asked_for_again)
{
	cr_assert(meet(PORT));
	for (int i = 0; i < 3; i++) {
		usleep(1000 * PLAIN_SERVER_MS / 2);
		plain_server_connected(PORT);
	}
	cr_assert_not(plain_server_was_met(PORT));
}

Test(plain_server, is_forgotten)
{
	cr_assert(meet(PORT));
	plain_server_forget();
	cr_assert_not(plain_server_was_met(PORT));
}

Test(plain_server, port_0_is_none)
{
	cr_assert_not(plain_server_was_met(0));
}
