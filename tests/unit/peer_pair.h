/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * peer_pair: a server and a client (peers.h) and their connections, as the
 * tests of link groups begin with.
 *
 * Include it once a program: its variables are the program's.
 */
#ifndef TESTS_UNIT_PEER_PAIR_H
#define TESTS_UNIT_PEER_PAIR_H

#include "tests/unit/peers.h"

#define LIMIT (64ull << 20)

static struct peer server, client;
static struct peer_message server_id, client_id;

static inline void pair_setup(void)
{
	place_make();
	server = peer_start();
	client = peer_start();
	server_id = peer_identity(&server);
	client_id = peer_identity(&client);
}

/* One connection: what the server and what the client hold. */
struct pair {
	struct peer_message s, c;
};

static inline struct pair connect_pair(void)
{
	struct pair p;

	p.s = peer_serve(&server, &client_id, LIMIT);
	cr_assert_eq(p.s.reason, REASON_NONE, "server: %x", p.s.reason);
	p.c = peer_accept(&client, &server_id, &p.s);
	cr_assert_eq(p.c.reason, REASON_NONE, "client: %x", p.c.reason);
	return p;
}

static inline void part(const struct pair *p)
{
	peer_return(&client, p->c.held);
	peer_return(&server, p->s.held);
}

/* Two connections have never the same element. */
static inline void assert_apart(const struct pair *p, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			cr_assert(p[i].s.number != p[k].s.number ||
				      p[i].s.element != p[k].s.element,
				  "connections %d and %d", k, i);
}

static inline int read_held(struct peer *p, int held)
{
	return peer_ask(p,
			(struct peer_message){.order = PEER_READ, .held = held})
	    .value;
}

static inline void write_held(struct peer *p, int held, int value)
{
	peer_ask(p, (struct peer_message){
			.order = PEER_WRITE, .held = held, .value = value});
}

/* A byte each way. */
static inline void assert_talk(const struct pair *p)
{
	static int value;

	value = value % 100 + 1;
	write_held(&server, p->s.held, value);
	write_held(&client, p->c.held, value + 100);
	cr_assert_eq(read_held(&client, p->c.held), value);
	cr_assert_eq(read_held(&server, p->s.held), value + 100);
}

#endif
