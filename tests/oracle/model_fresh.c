/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_fresh: a connection of its own, from its first call to its last, that
 * is used before both ends have looked at it for a while.
 */
#include "model.h"

#include <string.h>

struct place {
	const char *listens; /* at */
	const char *connects;
};

/* Before connect() or listen(). */
static void set_before(struct model *m, const struct end *e, const char *name)
{
	static const char *const set[] = {"nodelay 1", "keepalive 1",
					  "linger 1 5", "rcvlowat 1",
					  "quickack 1"};

	if (chance(m, 15))
		step(m, e, "set %s %s", name, PICK(m, set));
	if (chance(m, 5))
		step(m, e, "option %s 1 %u 60000", name, 7 + pick(m, 2));
}

static void listen_at(struct model *m, const struct end *server,
		      const char *address)
{
	char name[16];

	snprintf(name, sizeof(name), "l%d", m->listener);
	step(m, server, "listen %s %s%s%s", name, address,
	     chance(m, 20) ? " backlog=1" : "",
	     chance(m, 20) ? " nonblock" : "");
	set_before(m, server, name);
}

/* What a client does while nobody has accepted. */
static void act_early(struct model *m, struct connection *c)
{
	struct end *e = &c->ends[0];
	unsigned serial = ++m->serial;

	switch (pick(m, 9)) {
	case 0:
		write_send(m, c, 0);
		break;
	case 1:
		write_send(m, c, 0);
		finish_sending(m, e);
		break;
	case 2:
		step(m, e, "recv %s 10 flags=dontwait", e->name);
		break;
	case 3:
		step(m, e, "poll 0 %s:in|rdhup", e->name);
		step(m, e, "names %s", e->name);
		break;
	case 4:
		write_dup(m, c, 0);
		break;
	case 5:
		step(m, e, "epnew w%u", serial);
		step(m, e, "epctl w%u add %s events=in|rdhup%s", serial,
		     e->name, chance(m, 50) ? "|et" : "");
		step(m, e, "epwait w%u 0", serial);
		step(m, e, "close w%u", serial);
		break;
	case 6:
		write_nonblock(m, c, 0);
		break;
	default:
		break;
	}
}

static void connect_to(struct model *m, struct end *e, const char *address)
{
	e->nonblock = chance(m, 40);
	step(m, e, "socket %s %s%s", e->name, family(address),
	     e->nonblock ? " nonblock" : "");
	set_before(m, e, e->name);
	if (!strchr(address, ':') && chance(m, 10))
		step(m, e, "bind %s 127.0.0.1", e->name);
	step(m, e, "connect %s %s @l%d", e->name, address, m->listener);
}

static void accept_one(struct model *m, struct end *e, bool waits)
{
	unsigned flags = pick(m, 4);

	e->nonblock = flags == 3;
	if (!waits)
		step(m, e, "await l%d events=in", m->listener);
	line(m, "%c%s accept l%d %s%s", e->actor, waits ? "1&" : "0",
	     m->listener, e->name,
	     flags == 0   ? ""
	     : flags == 1 ? " via=accept4"
	     : flags == 2 ? " via=accept4 cloexec"
			  : " via=accept4 nonblock");
}

/* Neither end is asked to look at the other one's answer. */
static void begin(struct model *m, struct connection *c, char client)
{
	static const struct place places[] = {{"127.0.0.1", "127.0.0.1"},
					      {"0.0.0.0", "127.0.0.1"},
					      {"::1", "::1"},
					      {"::", "::1"},
					      {"::", "127.0.0.1"},
					      {"::", "::ffff:127.0.0.1"}};
	const struct place *place = &places[pick(m, 6)];
	struct end *server = &c->ends[1];
	bool waits = chance(m, 25);

	m->listener++;
	m->serial++;
	*c = (struct connection){.used = true, .address = place->listens};
	end_make(m, &c->ends[0], client, 'y');
	end_make(m, server, other_actor(client), 'z');
	listen_at(m, server, place->listens);
	if (waits) {
		step(m, server, "nonblock l%d 0", m->listener);
		accept_one(m, server, true);
		line(m, "blocked %c1", server->actor);
	}
	connect_to(m, &c->ends[0], place->connects);
	if (waits) {
		line(m, "%c1=", server->actor);
	} else {
		act_early(m, c);
		accept_one(m, server, false);
	}
	step(m, server, "close l%d", m->listener);
	if (c->ends[0].nonblock && chance(m, 70))
		step(m, &c->ends[0], "poll 9000 %s:out", c->ends[0].name);
}

/* At least once both have had something from the other one. */
static void exchange(struct model *m, struct connection *c)
{
	for (int i = 1; i >= 0; i--) {
		struct end *to = &c->ends[i];

		if (!can_send(c, !i) || to->unread)
			continue;
		step(m, &c->ends[!i], "send %s 20 %u", c->ends[!i].name,
		     next_pattern(m));
		sent(to, 20);
		arrive(m, c, i);
		step(m, to, "recv %s 20", to->name);
		taken(to, 20);
	}
}

void write_fresh(struct model *m, struct connection *c, int i)
{
	static void (*const acts[])(struct model *, struct connection *,
				    int) = {
	    write_send,     write_send,     write_send,  write_recv,
	    write_recv,     write_recv,     write_flags, write_splice,
	    write_nonblock, write_shutdown, write_dup,   write_many,
	    write_bad,      write_low_water};
	struct connection d;

	if (c->ends[0].actor == c->ends[1].actor)
		return;
	begin(m, &d, c->ends[i].actor);
	for (unsigned acts_left = pick(m, 7); acts_left; acts_left--)
		acts[pick(m, sizeof(acts) / sizeof(*acts))](m, &d,
							    (int)pick(m, 2));
	exchange(m, &d);
	write_finish(m, &d, (int)pick(m, 2));
}
