/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup_knock: a client says beforehand which element it would take. */
#include "tests/unit/peer_pair.h"

#define PORT 80

static uint32_t group; /* its number at the client */

/* They know each other. */
static void setup(void)
{
	struct pair p;

	pair_setup();
	p = connect_pair();
	group = peer_ask(&client, (struct peer_message){.order = PEER_LEARN,
							.held = p.c.held,
							.value = PORT})
		    .number;
	part(&p);
}

/* One server more, which the client knows as well. */
static struct peer add_server(void)
{
	struct peer p = peer_start();
	struct peer_message id = peer_identity(&p);
	struct pair with = {.s = peer_serve(&p, &client_id, LIMIT)};

	cr_assert_eq(with.s.reason, REASON_NONE);
	with.c = peer_accept(&client, &id, &with.s);
	cr_assert_eq(with.c.reason, REASON_NONE);
	peer_ask(&client, (struct peer_message){.order = PEER_LEARN,
						.held = with.c.held,
						.value = PORT});
	peer_return(&client, with.c.held);
	peer_return(&p, with.s.held);
	return p;
}

TestSuite(linkgroup_knock, .init = setup, .fini = place_remove);

static struct peer_message knock(int port)
{
	return peer_ask(
	    &client, (struct peer_message){.order = PEER_KNOCK, .value = port});
}

static struct peer_message answer(const struct option_knock *k)
{
	return peer_ask(
	    &server, (struct peer_message){.order = PEER_ANSWER, .knock = *k});
}

static bool take_back(const struct peer_message *k)
{
	return peer_ask(&client, (struct peer_message){.order = PEER_TAKE_BACK,
						       .held = k->held,
						       .knock = k->knock})
	    .value;
}

Test(linkgroup_knock, the_server_takes_what_the_client_knocked_at)
{
	struct pair p;

	for (int i = 0; i < 100; i++) {
		p.c = knock(PORT);
		cr_assert_geq(p.c.held, 0);
		p.s = answer(&p.c.knock);
		cr_assert(p.s.value);
		cr_assert_eq(p.s.element, p.c.element);
		assert_talk(&p);
		/* It is decided. */
		cr_assert_not(take_back(&p.c));
		cr_assert_not(answer(&p.c.knock).value);
		part(&p);
	}
	cr_assert_eq(peer_look(&server).rmbs_made, 1);
}

Test(linkgroup_knock, what_was_taken_back_is_nobodys)
{
	struct peer_message k;

	for (int i = 0; i < 100; i++) {
		k = knock(PORT);
		cr_assert_geq(k.held, 0);
		cr_assert(take_back(&k));
		cr_assert_not(answer(&k.knock).value);
	}
	cr_assert_eq(peer_look(&server).rmbs_made, 1);
}

Test(linkgroup_knock, nobody_knocks_where_nobody_accepted)
{
	cr_assert_eq(knock(PORT + 1).held, -1);
	/* A port with the same lowest bits is not known either. */
	cr_assert_eq(knock(PORT + 64).held, -1);
}

Test(linkgroup_knock, what_is_in_use_is_not_knocked_at)
{
	struct pair p = connect_pair();

	cr_assert_eq(knock(PORT).held, -1);
	peer_return(&server, p.s.held);
	cr_assert_eq(knock(PORT).held, -1);
	peer_return(&client, p.c.held);
	cr_assert_geq(knock(PORT).held, 0);
	cr_assert_eq(knock(PORT).held, -1);
}

Test(linkgroup_knock, a_proposal_gets_another_element_meanwhile)
{
	struct pair p;
	struct peer_message k = knock(PORT);

	cr_assert_geq(k.held, 0);
	p = connect_pair();
	cr_assert(p.s.number != k.knock.at[0].rmb || p.s.element != k.element);
	assert_talk(&p);
	cr_assert(answer(&k.knock).value);
}

Test(linkgroup_knock, an_rmb_that_a_client_knocks_at_stays)
{
	struct pair a = connect_pair(), b = connect_pair();
	struct peer_message k;

	part(&a);
	k = knock(PORT);
	cr_assert_geq(k.held, 0);
	part(&b);
	peer_ask(&server, (struct peer_message){.order = PEER_REST});
	cr_assert(answer(&k.knock).value);
}

Test(linkgroup_knock, a_knock_that_is_none_changes_nothing)
{
	struct peer_message k = knock(PORT);
	struct option_knock wrong = k.knock;

	cr_assert_geq(k.held, 0);
	wrong.token ^= 8;
	cr_assert_not(answer(&wrong).value);
	wrong = k.knock;
	wrong.at[0].element = 31;
	cr_assert_not(answer(&wrong).value);
	wrong.at[0].element = UINT32_MAX;
	cr_assert_not(answer(&wrong).value);
	wrong = k.knock;
	wrong.at[0].rmb = 77;
	cr_assert_not(answer(&wrong).value);
	wrong = k.knock;
	wrong.client[0] ^= 1;
	cr_assert_not(answer(&wrong).value);
	for (uint64_t word = 0; word < 8; word++) {
		wrong = k.knock;
		wrong.token = word;
		cr_assert_not(answer(&wrong).value);
	}
	cr_assert(answer(&k.knock).value);
}

/* A client may write what it likes: it takes its own elements away. */
Test(linkgroup_knock, words_that_cannot_be_are_no_ones_knock)
{
	struct peer_message k = knock(PORT);
	struct pair p;

	for (uint64_t word = 2; word < 9; word++) {
		peer_ask(&client, (struct peer_message){.order = PEER_POKE,
							.held = k.held,
							.knock.token = word});
		cr_assert_not(answer(&k.knock).value);
		p = connect_pair();
		assert_talk(&p);
		part(&p);
	}
}

/* A stranger knows the client's name, and may name a word as its token. */
Test(linkgroup_knock, no_word_is_a_token)
{
	static const uint64_t words[] = {KNOCK_OPEN, KNOCK_SHUT, KNOCK_TAKING,
					 KNOCK_GONE};
	struct peer_message k = knock(PORT);
	struct option_knock wrong = k.knock;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (uint64_t asleep = 0; asleep <= KNOCK_ASLEEP; asleep++) {
			wrong.token = words[i];
			peer_ask(&client,
				 (struct peer_message){.order = PEER_POKE,
						       .held = k.held,
						       .knock.token =
							   words[i] | asleep});
			cr_assert_not(answer(&wrong).value);
		}
}

Test(linkgroup_knock, after_one_in_vain_some_do_without_more_and_more)
{
	unsigned without[3] = {0};

	for (int i = 0; i < 3; i++) {
		struct peer_message k = knock(PORT);

		cr_assert_geq(k.held, 0);
		cr_assert(take_back(&k));
		peer_ask(&client, (struct peer_message){.order = PEER_VAIN,
							.value = (int)group});
		while (k = knock(PORT), k.held < 0)
			without[i]++;
		cr_assert(take_back(&k));
	}
	cr_assert_geq(without[0], 4);
	cr_assert_geq(without[1], 2 * without[0]);
	cr_assert_geq(without[2], 2 * without[1]);
}

Test(linkgroup_knock, a_child_knows_none)
{
	struct peer_message k;

	peer_send(&client, &(struct peer_message){.order = PEER_FORK});
	peer_answer(&client);
	k = knock(PORT);
	cr_assert_eq(k.held, -1);
	peer_send(&client, &(struct peer_message){.order = PEER_CHILD_END});
	cr_assert_eq(peer_answer(&client).value, 0);
	cr_assert_geq(knock(PORT).held, 0);
}

/* Takes it, if it can, and gives it back at once. */
static bool answers(struct peer *p, const struct option_knock *k)
{
	struct peer_message m = peer_ask(
	    p, (struct peer_message){.order = PEER_ANSWER, .knock = *k});

	if (m.value)
		peer_return(p, m.held);
	return m.value;
}

/* At all, or where it was not taken. */
static void take_all_back(const struct peer_message *k, int but)
{
	for (int i = 0; i < k->knocked; i++) {
		struct peer_message one = *k;

		one.held = k->knocks[i];
		if (i != but)
			cr_assert(take_back(&one));
	}
}

Test(linkgroup_knock, of_several_servers_each_may_take_it)
{
	struct peer second = add_server(), third = add_server();
	struct peer *who[] = {&third, &second, &server};

	for (int i = 0; i < 3; i++) {
		struct peer_message k = knock(PORT);

		cr_assert_eq(k.knocked, 3);
		cr_assert(k.all);
		/* The last to accept comes first. */
		cr_assert(answers(who[i], &k.knock));
		take_all_back(&k, i);
		for (int other = 0; other < 3; other++)
			cr_assert_not(answers(who[other], &k.knock));
		peer_return(&client, k.knocks[i]);
	}
}

Test(linkgroup_knock, where_one_server_has_nothing_open_others_have)
{
	struct peer second = add_server();
	struct peer_message first = knock(PORT), k = knock(PORT);

	cr_assert_eq(first.knocked, 2);
	cr_assert_eq(k.knocked, 0);
	take_all_back(&first, -1);
	/* The second one's is in use. */
	k = peer_serve(&second, &client_id, LIMIT);
	cr_assert_eq(k.reason, REASON_NONE);
	k = knock(PORT);
	cr_assert_eq(k.knocked, 1);
	cr_assert_not(k.all);
	cr_assert_not(answers(&second, &k.knock));
	cr_assert(answers(&server, &k.knock));
}

Test(linkgroup_knock, no_more_than_the_kernel_brings)
{
	struct peer last;
	struct peer_message k;

	for (int i = 0; i < OPTION_KNOCKS_MAX; i++)
		last = add_server();
	k = knock(PORT);
	cr_assert_eq(k.knocked, OPTION_KNOCKS_MAX);
	cr_assert_not(k.all);
	cr_assert_not(answers(&server, &k.knock));
	cr_assert(answers(&last, &k.knock));
	take_all_back(&k, 0);
}
