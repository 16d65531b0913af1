/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_option: what is set, and what is asked, of an end. */
#include "model.h"

static void write_cork(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (!can_send(c, i) || peer->unread > IN_FLIGHT_MAX / 2 ||
	    peer->pieces > 60)
		return;
	step(m, e, "set %s cork 1", e->name);
	step(m, e, "send %s 100 %u", e->name, next_pattern(m));
	step(m, e, "send %s 200 %u", e->name, next_pattern(m));
	step(m, e, "set %s cork 0", e->name);
	sent(peer, 300);
}

void write_probe(struct model *m, struct connection *c, int i)
{
	static const char *const asked[] = {
	    "type",    "domain",    "protocol", "acceptconn",
	    "nodelay", "keepalive", "rcvlowat"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	arrive(m, c, i);
	switch (pick(m, 9)) {
	case 0:
		step(m, e, "fionread %s", e->name);
		break;
	case 1:
		step(m, e, "outq %s", e->name);
		break;
	case 2:
		step(m, e, "get %s error", e->name);
		break;
	case 3:
		if (!e->fin_sent && !peer->fin_sent)
			step(m, e, "names %s", e->name);
		break;
	case 4:
		if (!e->fin_sent && !peer->fin_sent)
			step(m, e, "state %s", e->name);
		break;
	case 5:
		step(m, e, "identity %s", e->name);
		break;
	case 6:
		step(m, e, "set %s %s %u", e->name,
		     chance(m, 50) ? "nodelay" : "keepalive", pick(m, 2));
		break;
	case 7:
		write_cork(m, c, i);
		break;
	default:
		step(m, e, "get %s %s", e->name, PICK(m, asked));
	}
}

void write_nonblock(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	e->nonblock = !e->nonblock;
	step(m, e, "nonblock %s %d via=%s", e->name, e->nonblock,
	     chance(m, 50) ? "fcntl" : "ioctl");
	if (chance(m, 30))
		step(m, e, "flags %s", e->name);
}

/* Level and number of options that both ends of a connection may have set. */
void write_option(struct model *m, struct connection *c, int i)
{
	static const char *const asked[] = {
	    "1 12 3",     "1 5 1",     "1 7 60000", "1 8 60000", "1 13 len=8",
	    "1 20 len=8", "1 30",      "1 46 100",  "1 999",     "0 1 16",
	    "6 1 1",      "6 1 0",     "6 4 60",    "6 5 10",    "6 6 5",
	    "6 8 5",      "6 18 1000", "6 36",      "6 999",     "1 9 1",
	    "1 10 0",     "1 29 0",    "6 12 1",    "1 66"};
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	/* Larger buffers may wake. Some options are TCP's alone. */
	unwatch(m, e);
	c->moved = true;
	step(m, e, "option %s %s", e->name, PICK(m, asked));
}

/* SO_RCVLOWAT by every way to ask. */
void write_low_water(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned low = 2 + pick(m, 300), size = 1 + pick(m, 300);

	if (!is_quiet(c, i) || !can_send(c, !i))
		return;
	unwatch(m, e);
	step(m, e, "set %s rcvlowat %u", e->name, low);
	step(m, peer, "send %s %u %u", peer->name, size, next_pattern(m));
	sent(e, size);
	arrive(m, c, i);
	step(m, e, "poll 0 %s:in", e->name);
	step(m, e, "select 0 %s:in", e->name);
	step(m, e, "recv %s %u flags=peek|dontwait", e->name, low);
	step(m, e, "set %s rcvlowat 1", e->name);
	step(m, e, "poll 0 %s:in", e->name);
}

/* SO_PEEK_OFF (42): looks go on where the last one ended. */
void write_peek_offset(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	unsigned size;

	if (!e->unread)
		return;
	arrive(m, c, i);
	c->moved = true;
	step(m, e, "option %s 1 42 %u", e->name, pick(m, e->unread));
	for (int k = 0; k < 3; k++) {
		size = 1 + pick(m, e->unread);
		step(m, e, "recv %s %u flags=peek|dontwait%s", e->name, size,
		     chance(m, 20) ? "|trunc" : "");
		if (chance(m, 40) && e->unread > 1) {
			size = 1 + pick(m, e->unread / 2);
			step(m, e, "recv %s %u", e->name, size);
			taken(e, size);
		}
	}
	step(m, e, "option %s 1 42 -1", e->name);
	step(m, e, "recv %s %u flags=peek|dontwait", e->name, 1 + e->unread);
}

/* Signals for readiness, which nobody wants to see. */
void write_async(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	c->moved = true;
	step(m, e, "handler IO ignore");
	step(m, e, "async %s 1", e->name);
	step(m, e, "flags %s", e->name);
	step(m, e, "async %s 0", e->name);
}

/* SIGIO when something comes, and not before; perhaps by another signal. */
void write_sigio(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (e->task || !is_quiet(c, i) || !can_send(c, !i))
		return;
	unwatch(m, e);
	c->moved = true;
	step(m, e, "handler IO restart");
	step(m, e, "async %s 1", e->name);
	step(m, peer, "send %s 10 %u", peer->name, next_pattern(m));
	sent(e, 10);
	arrive(m, c, i);
	step(m, e, "handled");
	step(m, e, "recv %s 10", e->name);
	taken(e, 10);
	step(m, e, "async %s 0", e->name);
	step(m, e, "handler IO ignore");
	step(m, e, "handled");
}
