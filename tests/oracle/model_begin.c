/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_begin: steps of the seeds from GENERATE_ALL on: connections that are
 * watched, used, shared and ended while they begin, mostly of clients that do
 * not wait in connect(), at a server that has served them before.
 */
#include "model_beginning.h"

void write_beginning(struct model *m, struct connection *c, int i)
{
	struct beginning b;
	unsigned acts = pick(m, 9), when = pick(m, 7);
	unsigned how = pick(m, 10);

	if (c->ends[0].actor == c->ends[1].actor)
		return;
	beginning_start(&b, m, c->ends[i].actor, "");
	beginning_socket(&b);
	beginning_connect(&b);
	for (unsigned k = 0; k < acts; k++) {
		if (k == when && how > 1)
			server_accepts(&b, true);
		if (chance(m, 65))
			client_acts(&b);
		else
			server_acts(&b);
	}
	if (how == 0 && !client(&b)->fin_sent && !client(&b)->read_shut) {
		end_in_queue(&b);
	} else if (how == 1) {
		end_unaccepted(&b);
	} else {
		if (!b.accepted)
			server_accepts(&b, true);
		end_in_order(&b);
	}
	watches_close(&b);
	if (!b.listener_closed)
		line(m, "%c0 close l%d", server(&b)->actor, b.listener);
}

/* ---- connections that are not there yet ---- */

/* TCP says no SYN-ACK while the listener's queue is full. */
static void pend(struct beginning *b)
{
	static const char *const events[] = {"in|out|rdhup", "out", "in"};
	struct model *m = b->m;
	struct end *e = client(b), c = *e;

	switch (pick(m, 10)) {
	case 0:
		step(m, e, "get %s error", e->name);
		break;
	case 1:
		step(m, e, "names %s", e->name);
		break;
	case 2:
		step(m, e, "state %s", e->name);
		break;
	case 3:
		if (e->nonblock)
			beginning_connect(b);
		break;
	case 4:
		step(m, e, "recv %s 10 flags=dontwait", e->name);
		break;
	case 5:
		step(m, e, "send %s 10 1 flags=dontwait", e->name);
		break;
	case 6:
		step(m, e, "poll 0 %s:%s", e->name, PICK(m, events));
		break;
	case 7:
		client_renames(b);
		break;
	case 8:
		c.task = CHILD;
		step(m, e, "fork %d keep=%s via=fork", CHILD, e->name);
		step(m, &c, "poll 0 %s:in|out|rdhup", e->name);
		step(m, &c, "exit 0");
		step(m, e, "reap");
		break;
	default:
		client_watches(b);
	}
}

/* A signal ends the call, and the connection goes on to begin. */
static void connect_interrupted(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	step(m, e, "handler USR1 norestart");
	line(m, "%c1& connect %s %s @l%d", e->actor, e->name, b->connects,
	     b->listener);
	line(m, "blocked %c1", e->actor);
	line(m, "interrupt %c1 USR1", e->actor);
	step(m, e, "handled");
}

/* The one ahead of it is accepted, and the kernel asks again. */
static void end_pending(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b), *s = server(b);
	bool closes = chance(m, 25);

	if (closes) {
		step(m, s, "close l%d", b->listener);
		b->listener_closed = true;
	} else {
		step(m, s, "accept l%d o%d", b->listener, b->listener);
	}
	if (chance(m, 40))
		step(m, e, "select 9000 %s:out", e->name);
	else
		step(m, e, "poll 9000 %s:out", e->name);
	look_once_more(b);
	if (chance(m, 70))
		step(m, e, "get %s error", e->name);
	watch_leave(b);
	if (closes) {
		step(m, e, "send %s 10 1", e->name);
		step(m, e, "close %s", e->name);
		return;
	}
	if (chance(m, 50))
		write_send(m, &b->d, 0);
	server_accepts(b, true);
	end_in_order(b);
	line(m, "%c0 close o%d", s->actor, b->listener);
}

void write_full_queue(struct model *m, struct connection *c, int i)
{
	struct beginning b;
	struct end first = {.actor = c->ends[i].actor};

	if (c->ends[0].actor == c->ends[1].actor)
		return;
	beginning_start(&b, m, c->ends[i].actor, " backlog=0");
	snprintf(first.name, sizeof(first.name), "x%u", ++m->serial);
	step(m, &first, "socket %s %s", first.name, family(b.connects));
	step(m, &first, "connect %s %s @l%d", first.name, b.connects,
	     b.listener);
	beginning_socket(&b);
	if (client(&b)->nonblock)
		beginning_connect(&b);
	else
		connect_interrupted(&b);
	for (unsigned acts = pick(m, 6); acts; acts--)
		pend(&b);
	if (chance(m, 15)) {
		watch_leave(&b);
		if (chance(m, 50))
			step(m, client(&b), "shutdown %s rdwr",
			     client(&b)->name);
		step(m, client(&b), "close %s", client(&b)->name);
	} else {
		end_pending(&b);
	}
	watches_close(&b);
	step(m, &first, "close %s", first.name);
	if (!b.listener_closed)
		line(m, "%c0 close l%d", server(&b)->actor, b.listener);
}
