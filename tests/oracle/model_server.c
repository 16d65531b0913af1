/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_server: what a server does with a connection that begins. */
#include "model_beginning.h"

void server_accepts(struct beginning *b, bool forks)
{
	struct model *m = b->m;
	struct end *e = server(b);
	unsigned flags = pick(m, 4);

	step(m, e, "await l%d events=in", b->listener);
	if (chance(m, 10) && forks) {
		step(m, e, "fork %d keep=l%d", CHILD, b->listener);
		e->task = CHILD;
	}
	step(m, e, "accept l%d %s%s", b->listener, e->name,
	     flags == 0   ? ""
	     : flags == 1 ? " via=accept4 cloexec"
			  : " via=accept4 nonblock");
	e->nonblock = flags > 1;
	b->accepted = true;
}

/* Only of one that is still to be accepted. */
static void server_delays(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = server(b);

	switch (pick(m, 4)) {
	case 0:
		step(m, e, "poll 0 l%d:in", b->listener);
		break;
	case 1:
		step(m, e, "poll %u u0:pri", 1 + pick(m, 120));
		break;
	case 2:
		m->serial++;
		step(m, e, "epnew v%u", m->serial);
		step(m, e, "epctl v%u add l%d events=in", m->serial,
		     b->listener);
		step(m, e, "epwait v%u 9000", m->serial);
		step(m, e, "close v%u", m->serial);
		break;
	default:
		break;
	}
}

void server_acts(struct beginning *b)
{
	static void (*const writes[])(struct model *, struct connection *,
				      int) = {write_recv, write_recv,
					      write_flags, write_nonblock,
					      write_low_water};
	struct model *m = b->m;
	struct end *e = server(b);
	unsigned size = 1 + pick(m, 3000);

	if (!b->accepted) {
		server_delays(b);
		return;
	}
	if (chance(m, 45) && can_send(&b->d, 1) &&
	    client(b)->unread + size < 20000) {
		step(m, e, "send %s %u %u", e->name, size, next_pattern(m));
		sent(client(b), size);
		client_wakes(b, size);
	} else if (chance(m, 10) && !e->fin_sent) {
		finish_sending(m, e);
		client_wakes(b, 0);
	} else if (chance(m, 10)) {
		arrive(m, &b->d, 1);
		step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	} else if (!b->sleep) {
		writes[pick(m, sizeof(writes) / sizeof(*writes))](m, &b->d, 1);
	}
}
