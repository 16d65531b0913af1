/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup: how memory grows with connections, and comes back. */
#include "tests/unit/peer_pair.h"

#define MB (1ull << 20)

TestSuite(linkgroup_memory, .init = pair_setup, .fini = place_remove);

#define MANY 40

Test(linkgroup_memory, many_connections_grow_the_group_in_few_steps)
{
	struct pair p[MANY];

	for (int i = 0; i < MANY; i++)
		p[i] = connect_pair();
	assert_apart(p, MANY);
	for (int i = 0; i < MANY; i++)
		assert_talk(&p[i]);
	cr_assert_leq(peer_look(&server).rmbs_made, 9);
	cr_assert_eq(peer_look(&server).rmb_bytes, place_rmb_bytes());
	cr_assert_eq(peer_look(&client).rmb_bytes, 0);
	cr_assert_leq(place_rmb_bytes(), LIMIT);
}

Test(linkgroup_memory, memory_comes_back_when_connections_end)
{
	struct pair p[MANY];
	struct peer_message s;

	p[0] = connect_pair();
	s = peer_look(&server);
	for (int i = 1; i < MANY; i++)
		p[i] = connect_pair();
	for (int i = 1; i < MANY; i++)
		part(&p[i]);
	/* One element in use, and at most a few kept for the next. */
	cr_assert_leq(peer_look(&server).rmb_bytes, 8 * s.rmb_bytes);
	assert_talk(&p[0]);
	part(&p[0]);
	cr_assert_leq(place_rmb_bytes(), 8 * s.rmb_bytes);
	p[0] = connect_pair();
	assert_talk(&p[0]);
}

/* The client returns its element when the next connection is there already. */
static struct pair late_client(int times)
{
	struct pair p = connect_pair();

	for (int i = 0; i < times; i++) {
		struct pair next;

		peer_return(&server, p.s.held);
		next = connect_pair();
		peer_return(&client, p.c.held);
		assert_talk(&next);
		p = next;
	}
	return p;
}

Test(linkgroup_memory, a_client_that_is_late_each_time_costs_no_new_memory)
{
	struct pair p = late_client(100);

	cr_assert_leq(peer_look(&server).rmbs_made, 5);
	cr_assert_leq(place_rmb_bytes(),
		      4 * rmb_bytes(p.s.elements, p.s.rmbe_bytes));
}

Test(linkgroup_memory, what_late_clients_needed_comes_back_when_none_is_late)
{
	struct pair p = late_client(10);

	for (int i = 0; i < 1000; i++) {
		part(&p);
		p = connect_pair();
	}
	part(&p);
	cr_assert_eq(peer_look(&server).rmb_bytes,
		     rmb_bytes(p.s.elements, p.s.rmbe_bytes));
}

#define BURST 4
#define RMBE  262144u /* with plenty of memory */

static void burst(void)
{
	struct pair p[BURST];

	for (int i = 0; i < BURST; i++)
		p[i] = connect_pair();
	assert_apart(p, BURST);
	for (int i = 0; i < BURST; i++)
		part(&p[i]);
}

static int rest(struct peer *p)
{
	return peer_ask(p, (struct peer_message){.order = PEER_REST}).value;
}

Test(linkgroup_memory, bursts_that_come_again_cost_no_new_memory)
{
	struct peer_message before;

	burst();
	burst();
	before = peer_look(&server);
	for (int i = 0; i < 20; i++)
		burst();
	cr_assert_leq(peer_look(&server).rmbs_made, before.rmbs_made + 3);
	cr_assert_leq(peer_look(&server).descriptors, before.descriptors + 50);
}

/* As by a server that forks for each connection. */
Test(linkgroup_memory, what_was_spoilt_is_nothing_to_keep)
{
	for (int i = 0; i < 5; i++)
		burst();
	for (int i = 0; i < 30; i++) {
		struct pair p = connect_pair();

		peer_ask(&server, (struct peer_message){.order = PEER_LEAK,
							.held = p.s.held});
		peer_return(&client, p.c.held);
	}
	cr_assert_leq(peer_look(&server).rmb_bytes, rmb_bytes(2 * BURST, RMBE));
}

static void lend(struct pair *p)
{
	peer_ask(&server,
		 (struct peer_message){.order = PEER_LEND, .held = p->s.held});
}

static void end_leases(void)
{
	peer_ask(&server, (struct peer_message){.order = PEER_LEASE_ENDS});
}

/* Neither before the child is done with it, nor before the client is. */
Test(linkgroup_memory, what_was_lent_is_taken_again_when_both_sides_are_done)
{
	struct pair first = connect_pair();
	struct pair second, third;

	lend(&first);
	second = connect_pair();
	cr_assert(!second.s.first);
	assert_apart((struct pair[]){first, second}, 2);
	peer_return(&client, first.c.held);
	third = connect_pair();
	assert_apart((struct pair[]){first, second, third}, 3);
	part(&second);
	part(&third);
	first = connect_pair();
	lend(&first);
	end_leases();
	second = connect_pair();
	assert_apart((struct pair[]){first, second}, 2);
	assert_talk(&second);
}

Test(linkgroup_memory, a_server_that_lends_all_makes_no_memory_for_each)
{
	struct peer_message before;

	for (int i = 0; i < 20; i++) {
		struct pair p = connect_pair();

		if (i == 5)
			before = peer_look(&server);
		assert_talk(&p);
		lend(&p);
		peer_return(&client, p.c.held);
		end_leases();
	}
	cr_assert_eq(peer_look(&server).rmbs_made, before.rmbs_made);
	cr_assert_eq(peer_look(&server).descriptors, before.descriptors);
}

/* What is lent for ever does not keep memory that nobody uses, either. */
Test(linkgroup_memory, what_never_comes_back_is_given_up)
{
	for (int i = 0; i < 30; i++) {
		struct pair p = connect_pair();

		lend(&p);
		peer_return(&client, p.c.held);
	}
	cr_assert_leq(peer_look(&server).rmb_bytes, rmb_bytes(20, RMBE));
}

Test(linkgroup_memory, a_burst_that_comes_once_leaves_nothing)
{
	burst();
	cr_assert_eq(rest(&server), -1);
	cr_assert_leq(peer_look(&server).rmb_bytes, rmb_bytes(BURST / 2, RMBE));
}

Test(linkgroup_memory, what_bursts_needed_goes_when_none_has_come_for_a_while)
{
	const struct timespec nap = {0, 10000000};
	struct pair p;
	uint64_t kept;
	int ms;

	for (int i = 0; i < 5; i++)
		burst();
	kept = peer_look(&server).rmb_bytes;
	cr_assert_geq(kept, rmb_bytes(BURST, RMBE));
	while ((ms = rest(&server)) > 0) {
		cr_assert_leq(ms, 1001);
		nanosleep(&nap, NULL);
	}
	cr_assert_eq(rest(&server), -1);
	cr_assert_leq(peer_look(&server).rmb_bytes, rmb_bytes(BURST / 2, RMBE));
	p = connect_pair();
	assert_talk(&p);
}

Test(linkgroup_memory, less_free_memory_means_smaller_rings_and_the_limit_holds)
{
	uint32_t last = UINT32_MAX;
	struct peer_message m;
	int n = 0;

	for (;;) {
		m = peer_serve(&server, &client_id, 2 * MB);
		if (m.reason)
			break;
		cr_assert_leq(m.rmbe_bytes, last);
		last = m.rmbe_bytes;
		cr_assert_leq(place_rmb_bytes(), 2 * MB);
		cr_assert_lt(++n, PEER_HELD);
	}
	cr_assert_eq(m.reason, REASON_MEMORY);
	cr_assert_eq(last, RMB_RMBE_MIN);
	cr_assert_gt(n, 8);
	/* A larger limit, and it goes on. */
	cr_assert_eq(peer_serve(&server, &client_id, 4 * MB).reason, 0);
}

/* Fills 2 MB with connections to this client: how many. */
static int fill(const struct peer_message *id, struct peer_message *out)
{
	int n = 0;

	do {
		cr_assert_lt(n, PEER_HELD);
		out[n] = peer_serve(&server, id, 2 * MB);
	} while (out[n++].reason == REASON_NONE);
	cr_assert_eq(out[n - 1].reason, REASON_MEMORY);
	return n - 1;
}

Test(linkgroup_memory, memory_that_one_peer_left_idle_is_there_for_another)
{
	struct peer other = peer_start();
	struct peer_message other_id = peer_identity(&other);
	struct peer_message held[PEER_HELD];
	int n = fill(&client_id, held);

	for (int i = 0; i < n; i++) {
		struct peer_message m =
		    peer_accept(&client, &server_id, &held[i]);

		cr_assert_eq(m.reason, 0);
		peer_return(&client, m.held);
		peer_return(&server, held[i].held);
	}
	/* One element of the first may be kept; the rest is the second's. */
	cr_assert_geq(fill(&other_id, held), n / 2);
}

Test(linkgroup_memory, without_memory_there_is_a_reason_and_nothing_is_left)
{
	struct peer_message before = peer_look(&server);

	for (int i = 0; i < 20; i++)
		cr_assert_eq(peer_serve(&server, &client_id, 4096).reason,
			     REASON_MEMORY);
	cr_assert_eq(peer_look(&server).rmb_bytes, 0);
	cr_assert_eq(peer_look(&server).mappings, before.mappings);
	/* The segment and its totals may have been opened. */
	cr_assert_leq(peer_look(&server).descriptors, before.descriptors + 4);
}
