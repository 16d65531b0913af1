/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>

#include "ofed_core/pure/rx_moderation.h"

#define MS UINT64_C(1000000)
#define T0 (1000 * MS)

Test(rx_moderation, in_the_middle_of_messages_and_not_at_their_end)
{
	struct rx_moderation d = {0};

	for (int i = 0; i < 100; i++)
		cr_assert_gt(rx_moderation_ns(&d, false, T0), 0);
	cr_assert_lt(rx_moderation_ns(&d, false, T0), MS / 4);
	cr_assert_eq(rx_moderation_ns(&d, true, T0), 0);
	cr_assert_gt(rx_moderation_ns(&d, false, T0), 0);
}

/* Messages of 16 packets, of which each look finds 20 more. */
Test(rx_moderation, a_stream_is_left_alone)
{
	struct rx_moderation d = {0};
	unsigned waits = 0;

	for (unsigned packets = 20; packets <= 20 * 1000; packets += 20)
		waits +=
		    rx_moderation_ns(&d, packets % 16 == 0, T0 + packets) > 0;
	cr_assert_eq(waits, 750);
}

Test(rx_moderation, a_peer_that_waits_for_an_answer_is_not_kept_waiting)
{
	struct rx_moderation d = {0};
	unsigned waits = 0;

	/* A message each 0.2 ms: its first packet, then, if it slept, all. */
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now = T0 + i * MS / 5;

		waits += rx_moderation_ns(&d, false, now) > 0;
		rx_moderation_ns(&d, true, now);
	}
	cr_assert_leq(waits, 4 * (1000 / 250 + 1));
	/* And then it tries again. */
	cr_assert_gt(rx_moderation_ns(&d, false, T0 + 1000 * MS), 0);
}

Test(rx_moderation, messages_of_one_packet_are_never_waited_for)
{
	struct rx_moderation d = {0};

	for (unsigned i = 0; i < 100; i++)
		cr_assert_eq(rx_moderation_ns(&d, true, T0 + i), 0);
}
