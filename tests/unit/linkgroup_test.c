/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup: two processes that make, use, give back and lose RMBs. */
#include "peers.h"

#define MB    (1ull << 20)
#define LIMIT (64 * MB)

static struct peer server, client;
static struct peer_message server_id, client_id;

static void setup(void)
{
	place_make();
	server = peer_start();
	client = peer_start();
	server_id = peer_identity(&server);
	client_id = peer_identity(&client);
}

TestSuite(linkgroup, .init = setup, .fini = place_remove);

/* One connection: what the server and what the client hold. */
struct pair {
	struct peer_message s, c;
};

static struct pair connect_pair(void)
{
	struct pair p;

	p.s = peer_serve(&server, &client_id, LIMIT);
	cr_assert_eq(p.s.reason, REASON_NONE, "server: %x", p.s.reason);
	p.c = peer_accept(&client, &server_id, &p.s);
	cr_assert_eq(p.c.reason, REASON_NONE, "client: %x", p.c.reason);
	return p;
}

static void part(const struct pair *p)
{
	peer_return(&client, p->c.held);
	peer_return(&server, p->s.held);
}

static int read_held(struct peer *p, int held)
{
	return peer_ask(p,
			(struct peer_message){.order = PEER_READ, .held = held})
	    .value;
}

static void write_held(struct peer *p, int held, int value)
{
	peer_ask(p, (struct peer_message){
			.order = PEER_WRITE, .held = held, .value = value});
}

static void assert_talk(const struct pair *p)
{
	static int value;

	value = value % 100 + 1;
	write_held(&server, p->s.held, value);
	write_held(&client, p->c.held, value + 100);
	cr_assert_eq(read_held(&client, p->c.held), value);
	cr_assert_eq(read_held(&server, p->s.held), value + 100);
}

/* ---- the usual course ---- */

Test(linkgroup, a_first_contact_makes_a_group_that_both_know)
{
	struct pair p = connect_pair();

	cr_assert(p.s.first);
	cr_assert_arr_eq(p.s.proof, p.c.proof, NONCE_BYTES);
	cr_assert_neq(memcmp(p.s.nonce, p.s.proof, NONCE_BYTES), 0);
	cr_assert_eq(p.s.value, client.pid);
	cr_assert_eq(p.c.value, server.pid);
	assert_talk(&p);
	cr_assert_eq(peer_look(&server).first_contacts, 1);
	cr_assert_eq(peer_look(&client).first_contacts, 1);
	cr_assert_eq(place_rmb_bytes(),
		     rmb_bytes(p.s.elements, p.s.rmbe_bytes));
}

Test(linkgroup, a_second_connection_finds_the_group_and_has_its_own_element)
{
	struct pair a = connect_pair();
	struct pair b = connect_pair();

	cr_assert(!b.s.first);
	cr_assert(a.s.number != b.s.number || a.s.element != b.s.element);
	cr_assert_arr_eq(a.s.nonce, b.s.nonce, NONCE_BYTES);
	assert_talk(&a);
	assert_talk(&b);
	cr_assert_eq(peer_look(&server).first_contacts, 1);
	cr_assert_eq(peer_look(&server).reuses, 1);
}

Test(linkgroup, an_element_that_both_gave_back_is_used_again)
{
	struct pair p = connect_pair();
	struct peer_message before = peer_look(&server);

	for (int i = 0; i < 50; i++) {
		part(&p);
		p = connect_pair();
		assert_talk(&p);
	}
	cr_assert_eq(peer_look(&server).rmbs_made, 1);
	cr_assert_eq(peer_look(&server).descriptors, before.descriptors);
}

Test(linkgroup, an_element_that_the_client_still_has_is_not_used_again)
{
	struct pair a = connect_pair();
	struct pair b;

	peer_return(&server, a.s.held);
	b = connect_pair();
	cr_assert(a.s.number != b.s.number || a.s.element != b.s.element);
	assert_talk(&b);
	peer_return(&client, a.c.held);
}

Test(linkgroup, an_element_that_was_spoilt_is_not_used_again)
{
	struct pair a = connect_pair();
	struct pair b;

	peer_ask(&server,
		 (struct peer_message){.order = PEER_LEAK, .held = a.s.held});
	peer_return(&client, a.c.held);
	b = connect_pair();
	cr_assert(a.s.number != b.s.number || a.s.element != b.s.element);
	assert_talk(&b);
}

/* ---- growth, and memory that comes back ---- */

#define MANY 40

static void assert_apart(const struct pair *p, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			cr_assert(p[i].s.number != p[k].s.number ||
				      p[i].s.element != p[k].s.element,
				  "connections %d and %d", k, i);
}

Test(linkgroup, many_connections_grow_the_group_in_few_steps)
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

Test(linkgroup, memory_comes_back_when_connections_end)
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

Test(linkgroup, a_client_that_is_late_each_time_costs_no_new_memory)
{
	struct pair p = late_client(100);

	cr_assert_leq(peer_look(&server).rmbs_made, 5);
	cr_assert_leq(place_rmb_bytes(),
		      4 * rmb_bytes(p.s.elements, p.s.rmbe_bytes));
}

Test(linkgroup, what_late_clients_needed_comes_back_when_none_is_late)
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

Test(linkgroup, bursts_that_come_again_cost_no_new_memory)
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
Test(linkgroup, what_was_spoilt_is_nothing_to_keep)
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
Test(linkgroup, what_was_lent_is_taken_again_when_both_sides_are_done)
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

Test(linkgroup, a_server_that_lends_all_makes_no_memory_for_each)
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

/* Nor does what is lent for ever keep memory that nobody uses. */
Test(linkgroup, what_never_comes_back_is_given_up)
{
	for (int i = 0; i < 30; i++) {
		struct pair p = connect_pair();

		lend(&p);
		peer_return(&client, p.c.held);
	}
	cr_assert_leq(peer_look(&server).rmb_bytes, rmb_bytes(20, RMBE));
}

Test(linkgroup, a_burst_that_comes_once_leaves_nothing)
{
	burst();
	cr_assert_eq(rest(&server), -1);
	cr_assert_leq(peer_look(&server).rmb_bytes, rmb_bytes(BURST / 2, RMBE));
}

Test(linkgroup, what_bursts_needed_goes_when_none_has_come_for_a_while)
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

Test(linkgroup, less_free_memory_means_smaller_rings_and_the_limit_holds)
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

Test(linkgroup, memory_that_one_peer_left_idle_is_there_for_another)
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

Test(linkgroup, without_memory_there_is_a_reason_and_nothing_is_left)
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

/* ---- peers that die ---- */

Test(linkgroup, a_client_that_died_is_on_no_host_and_costs_nothing)
{
	struct peer_message before = peer_look(&server);
	struct pair p = connect_pair();

	peer_kill(&client);
	cr_assert_neq(peer_serve(&server, &client_id, LIMIT).reason,
		      REASON_NONE);
	/* The connection still has its memory, and may read the rest. */
	cr_assert_gt(place_rmb_bytes(), 0);
	write_held(&server, p.s.held, 5);
	peer_return(&server, p.s.held);
	cr_assert_eq(place_rmb_bytes(), 0);
	cr_assert_leq(peer_look(&server).descriptors, before.descriptors + 4);
	client = peer_start();
	client_id = peer_identity(&client);
	p = connect_pair();
	cr_assert(p.s.first);
	assert_talk(&p);
}

Test(linkgroup, a_server_that_died_leaves_its_bytes_and_then_nothing)
{
	struct peer_message before = peer_look(&client);
	struct pair p = connect_pair();

	write_held(&server, p.s.held, 77);
	peer_kill(&server);
	cr_assert_eq(read_held(&client, p.c.held), 77);
	peer_return(&client, p.c.held);
	cr_assert_leq(peer_look(&client).descriptors, before.descriptors + 2);
	server = peer_start();
	server_id = peer_identity(&server);
	p = connect_pair();
	assert_talk(&p);
	/* And the dead one's memory is off the ledger. */
	cr_assert_eq(place_rmb_bytes(),
		     rmb_bytes(p.s.elements, p.s.rmbe_bytes));
}

Test(linkgroup, a_peer_that_never_was_is_on_another_host)
{
	struct peer_message nobody = client_id;
	struct peer_message before;

	nobody.id[0] ^= 1;
	cr_assert_eq(peer_serve(&server, &nobody, LIMIT).reason,
		     REASON_OTHER_HOST);
	before = peer_look(&server);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(peer_serve(&server, &nobody, LIMIT).reason,
			     REASON_OTHER_HOST);
	cr_assert_eq(peer_look(&server).descriptors, before.descriptors);
}

Test(linkgroup, many_dead_clients_leave_nothing_behind)
{
	struct peer_message before;

	part(&(struct pair){connect_pair().s, {.held = 0}});
	before = peer_look(&server);
	for (int i = 0; i < 10; i++) {
		struct peer_message m;

		peer_kill(&client);
		client = peer_start();
		client_id = peer_identity(&client);
		m = peer_serve(&server, &client_id, LIMIT);
		cr_assert_eq(m.reason, 0);
		if (i & 1)
			cr_assert_eq(
			    peer_accept(&client, &server_id, &m).reason, 0);
		peer_return(&server, m.held);
	}
	cr_assert_leq(peer_look(&server).descriptors, before.descriptors + 3);
	cr_assert_eq(place_rmb_bytes(), peer_look(&server).rmb_bytes);
}

/* ---- a server that says what is not so ---- */

static void assert_out_of_step(struct peer_message lie)
{
	struct peer_message m = peer_accept(&client, &server_id, &lie);

	cr_assert_eq(m.reason, REASON_SYNC);
}

Test(linkgroup, an_accept_must_name_what_the_channel_brought)
{
	const uint32_t elements[] = {1, 2, 31, 32, 33, 255, UINT32_MAX};
	struct peer_message offer = peer_serve(&server, &client_id, LIMIT);
	struct peer_message lie;
	struct peer_message saved = server_id;
	size_t i;

	cr_assert_eq(offer.elements, 1);
	for (i = 0; i < NONCE_BYTES; i++) {
		lie = offer;
		lie.nonce[i] ^= 0x80;
		assert_out_of_step(lie);
	}
	for (i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
		lie = offer;
		lie.element = elements[i];
		assert_out_of_step(lie);
	}
	lie = offer;
	lie.number++;
	assert_out_of_step(lie);
	lie.number = 0;
	assert_out_of_step(lie);
	server_id.id[3] ^= 1;
	assert_out_of_step(offer);
	server_id = saved;
	cr_assert_eq(peer_accept(&client, &server_id, &offer).reason, 0);
	/* No element is given to two connections. */
	assert_out_of_step(offer);
}

Test(linkgroup, a_group_is_of_one_direction)
{
	struct pair p = connect_pair();
	struct peer_message m;

	/* The client serves the server: another group. */
	m = peer_serve(&client, &server_id, LIMIT);
	cr_assert_eq(m.reason, 0);
	cr_assert(m.first);
	cr_assert_eq(peer_accept(&server, &client_id, &m).reason, 0);
	assert_talk(&p);
}

Test(linkgroup, a_process_may_be_its_own_peer)
{
	struct peer_message m = peer_serve(&server, &server_id, LIMIT);
	struct peer_message c;

	cr_assert_eq(m.reason, 0);
	c = peer_accept(&server, &server_id, &m);
	cr_assert_eq(c.reason, 0);
	write_held(&server, m.held, 11);
	cr_assert_eq(read_held(&server, c.held), 11);
	peer_return(&server, c.held);
	peer_return(&server, m.held);
}

/* ---- few descriptors ---- */

static void limit_descriptors(struct peer *p, int n)
{
	peer_ask(p,
		 (struct peer_message){.order = PEER_DESCRIPTORS, .value = n});
}

Test(linkgroup, a_server_without_descriptors_says_so_and_loses_none)
{
	struct peer_message before;
	struct peer_message m;

	/* Segment, totals and ledger are there after the first. */
	cr_assert_eq(peer_serve(&server, &client_id, 4096).reason,
		     REASON_MEMORY);
	before = peer_look(&server);
	limit_descriptors(&server, 24);
	for (int i = 0; i < 10; i++) {
		m = peer_serve(&server, &client_id, LIMIT);
		if (m.reason)
			break;
	}
	cr_assert_eq(m.reason, REASON_DESCRIPTORS);
	m = peer_look(&server);
	cr_assert_eq(m.rmb_bytes, place_rmb_bytes());
	for (int i = 0; i < 10; i++)
		cr_assert_eq(peer_serve(&server, &client_id, LIMIT).reason,
			     REASON_DESCRIPTORS);
	cr_assert_eq(peer_look(&server).descriptors, m.descriptors);
	cr_assert_eq(peer_look(&server).rmb_bytes, m.rmb_bytes);
	cr_assert_geq(m.descriptors, before.descriptors);
}

Test(linkgroup, a_client_without_descriptors_declines_and_loses_none)
{
	struct peer_message before;
	struct peer_message m;
	int held[12];
	int n = 0;

	limit_descriptors(&client, 32);
	for (int i = 0; i < 12; i++) {
		m = peer_serve(&server, &client_id, LIMIT);
		cr_assert_eq(m.reason, 0);
		m = peer_accept(&client, &server_id, &m);
		if (m.reason)
			break;
		held[n++] = m.held;
	}
	cr_assert_neq(m.reason, REASON_NONE);
	before = peer_look(&client);
	for (int i = 0; i < 10; i++) {
		m = peer_serve(&server, &client_id, LIMIT);
		cr_assert_neq(peer_accept(&client, &server_id, &m).reason, 0);
	}
	cr_assert_eq(peer_look(&client).descriptors, before.descriptors);
	/* Those that it has are as good as ever. */
	for (int i = 0; i < n; i++)
		write_held(&client, held[i], i);
}

/* ---- fork and end ---- */

Test(linkgroup, a_forked_child_is_another_peer)
{
	struct pair p = connect_pair();
	struct peer_message m = {.order = PEER_FORK};
	struct peer_message child;

	peer_send(&server, &m);
	/* From here the child answers; its parent waits for its end. */
	peer_answer(&server);
	child = peer_identity(&server);
	cr_assert_neq(memcmp(child.id, server_id.id, PEER_ID_BYTES), 0);
	assert_talk(&p);
	m = peer_serve(&server, &client_id, LIMIT);
	cr_assert_eq(m.reason, 0);
	cr_assert(m.first);
	cr_assert_eq(peer_accept(&client, &child, &m).reason, 0);
	/* Giving back what it inherited takes nothing from the parent. */
	peer_return(&server, p.s.held);
	peer_send(&server, &(struct peer_message){.order = PEER_CHILD_END});
	cr_assert_eq(peer_answer(&server).value, 0);
	assert_talk(&p);
	peer_return(&client, p.c.held);
	peer_return(&server, p.s.held);
	p = connect_pair();
	cr_assert(!p.s.first);
	assert_talk(&p);
}

Test(linkgroup, names_go_with_their_process_or_with_the_next_one)
{
	const char *peers = place_path(RUNDIR_PEER);
	char path[PLACE_PATH];

	snprintf(path, sizeof(path), "%s", peers);
	cr_assert_eq(place_count(path), 2);
	peer_end(&client);
	cr_assert_eq(place_count(path), 1);
	peer_kill(&server);
	cr_assert_eq(place_count(path), 1);
	server = peer_start();
	server_id = peer_identity(&server);
	cr_assert_eq(place_count(path), 1);
}
