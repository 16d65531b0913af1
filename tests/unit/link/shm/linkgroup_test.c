/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup: two processes that make, use, give back and lose elements. */
#include "tests/unit/peer_pair.h"

TestSuite(linkgroup, .init = pair_setup, .fini = place_remove);

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
	const char *peers = place_path(PLACE_PEER);
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
