/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/port_history.h"

#include <criterion/criterion.h>
#include <stdbool.h>

#define PORT 8080

static struct port_history g;

static bool is_full(uint16_t port, uint64_t now_ms)
{
	return port_history_timeouts(&g, port, now_ms) == PORT_HISTORY_TIMEOUTS;
}

/* As many misses as it takes, one after another; the time of the last. */
static uint64_t miss_all(uint64_t at, uint64_t each_ms)
{
	for (unsigned i = 0; i < PORT_HISTORY_TIMEOUTS; i++) {
		cr_assert_eq(port_history_timeouts(&g, PORT, at), i);
		port_history_note_timeout(&g, PORT, at, at + each_ms);
		at += each_ms;
	}
	return at;
}

Test(port_history, it_ends_after_some_misses)
{
	uint64_t now = miss_all(5000, 10);

	cr_assert(is_full(PORT, now));
	cr_assert_not(is_full(PORT + 1, now));
}

Test(port_history, it_is_given_again_after_a_while)
{
	uint64_t now = miss_all(5000, 10);

	/* Others time out later: that does not lengthen it. */
	port_history_note_timeout(&g, PORT, now, now + 500);
	cr_assert(is_full(PORT, now + PORT_HISTORY_MS - 1));
	miss_all(now + PORT_HISTORY_MS, 10);
	cr_assert(is_full(PORT, now + PORT_HISTORY_MS + 30));
}

Test(port_history, those_that_wait_beside_each_other_are_one)
{
	for (unsigned i = 0; i < 100; i++)
		port_history_note_timeout(&g, PORT, 5000 + i % 10,
					  5010 + i % 10);
	cr_assert_not(is_full(PORT, 5020));
	port_history_note_timeout(&g, PORT, 5020, 5030);
	cr_assert_not(is_full(PORT, 5030));
	port_history_note_timeout(&g, PORT, 5030, 5040);
	cr_assert(is_full(PORT, 5040));
}

Test(port_history, an_answer_in_time_gives_it_back)
{
	uint64_t now = miss_all(5000, 10);

	port_history_note_answer(&g, PORT, now, false);
	cr_assert(is_full(PORT, now));
	port_history_note_answer(&g, PORT, now, true);
	cr_assert_not(is_full(PORT, now));
	miss_all(now, 10);
	cr_assert(is_full(PORT, now + 30));
}

Test(port_history, times_may_be_large_and_waits_long)
{
	uint64_t now = 1ull << 40;

	port_history_note_timeout(&g, PORT, now, now + 900);
	port_history_note_timeout(&g, PORT, now + 900, now + 1800);
	port_history_note_timeout(&g, PORT, now + 1800, now + 1899);
	cr_assert(is_full(PORT, now + 2898));
	cr_assert_not(is_full(PORT, now + 2899));
	port_history_note_timeout(&g, PORT, now, now + 90000);
	cr_assert_not(is_full(PORT, now + 90000));
}

Test(port_history, it_knows_when_a_port_was_answered_last)
{
	cr_assert_eq(port_history_answered(&g, PORT), 0);
	port_history_note_answer(&g, PORT, 5000, true);
	port_history_note_answer(&g, PORT, 1ull << 40, false);
	cr_assert_eq(port_history_answered(&g, PORT), 1ull << 40);
	cr_assert_eq(port_history_answered(&g, PORT + 1), 0);
}
