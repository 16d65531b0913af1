/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_odd: steps that few programs take.
 */
#include "model.h"

#include <string.h>

/* Two names for a while, both used; then one of them is closed. */
void write_alias(struct model *m, struct connection *c, int i)
{
	static const char *const events[] = {"in", "in|et", "in|out|et", "out"};
	struct end *e = &c->ends[i];
	bool registers = !e->task && chance(m, 40);
	char name[sizeof(e->name)];

	unwatch(m, e);
	snprintf(name, sizeof(name), "d%u", ++m->serial);
	if (chance(m, 25))
		step(m, e, "dupto %s %s %u", e->name, name, 500 + pick(m, 700));
	else if (chance(m, 20))
		step(m, e, "fetch %s %s", e->name, name);
	else
		step(m, e, "dup %s %s", e->name, name);
	if (registers)
		step(m, e, "epctl e%c add %s events=%s", e->actor, name,
		     PICK(m, events));
	write_recv(m, c, i);
	arrive(m, c, i);
	if (registers)
		look_at_epoll(m, e, NULL);
	step(m, e, "poll 0 %s:in|out %s:in %s:out", name, e->name, name);
	step(m, e, "fionread %s", name);
	if (e->unread) {
		step(m, e, "recv %s 10", name);
		taken(e, 10);
	}
	write_send(m, c, i);
	if (registers)
		step(m, e, "epctl e%c del %s", e->actor, name);
	if (chance(m, 50)) {
		step(m, e, "close %s", name);
		return;
	}
	step(m, e, "close %s", e->name);
	snprintf(e->name, sizeof(e->name), "%s", name);
}

/* Buffers where there are none, with nothing good ahead of them: how much of
 * that is moved is a matter of packets. */
void write_bad(struct model *m, struct connection *c, int i)
{
	static const char *const sends[] = {"send", "write", "writev",
					    "sendmsg"};
	static const char *const receives[] = {"recv", "read", "readv",
					       "recvmsg"};
	struct end *e = &c->ends[i];

	if (chance(m, 50)) {
		if (can_send(c, i) || e->fin_sent)
			step(m, e, "sendbad %s 0 %u 1 via=%s", e->name,
			     1 + pick(m, 100), PICK(m, sends));
		return;
	}
	arrive(m, c, i);
	if (is_quiet(c, i))
		step(m, e, "recvbad %s 0 10 via=recvmsg flags=dontwait",
		     e->name);
	else
		step(m, e, "recvbad %s 0 %u via=%s", e->name, 1 + pick(m, 100),
		     PICK(m, receives));
}

/* Many buffers, some of them empty. */
void write_many(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned count = 1 + pick(m, 1023), each = pick(m, 12), size = 0;

	if (e->unread && chance(m, 50)) {
		arrive(m, c, i);
		each = 1 + pick(m, 12);
		for (unsigned k = 0; k < count; k++)
			size += k % 3 == 1 ? 0 : each;
		step(m, e, "recvmany %s %u %u", e->name, count, each);
		taken(e, size);
		return;
	}
	for (unsigned k = 0; k < count; k++)
		size += k % 3 == 1 ? 0 : each;
	if (!can_send(c, i) || peer->unread + size > IN_FLIGHT_MAX ||
	    peer->pieces > 90)
		return;
	step(m, e, "sendmany %s %u %u %u", e->name, count, each,
	     next_pattern(m));
	sent(peer, size);
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

/* Urgent data, told of and read; then the stream goes on behind the mark. */
void write_urgent(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (!is_quiet(c, i) || !can_send(c, !i) || !can_send(c, i))
		return;
	c->moved = true;
	/* Not as the first byte of all: it is one that a look passes over. */
	step(m, peer, "send %s 1 %u", peer->name, next_pattern(m));
	step(m, e, "await %s bytes=1", e->name);
	step(m, e, "recv %s 1", e->name);
	step(m, peer, "send %s 1 %u flags=oob", peer->name, next_pattern(m));
	step(m, e, "await %s events=pri", e->name);
	step(m, e, "poll 0 %s:in|pri|rdband", e->name);
	if (e->watched && !e->task)
		look_at_epoll(m, e, c);
	step(m, e, "recv %s 1 flags=oob%s", e->name,
	     chance(m, 30) ? "|peek" : "");
	step(m, e, "recv %s 10 flags=dontwait", e->name);
	step(m, e, "recv %s 1 flags=oob", e->name);
	step(m, peer, "send %s 3 %u", peer->name, next_pattern(m));
	step(m, e, "settle %s", e->name);
	step(m, e, "atmark %s", e->name);
	step(m, e, "recv %s 10", e->name);
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

void write_strange(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 3000);

	arrive(m, c, i);
	switch (pick(m, 5)) {
	case 0:
		step(m, e, "strange %s", e->name);
		c->moved |= m->more;
		break;
	case 1:
		if (!can_send(c, i) || peer->unread + size > IN_FLIGHT_MAX)
			return;
		step(m, e, "sendnamed %s %u %u%s", e->name, size,
		     next_pattern(m), chance(m, 50) ? " sendmsg" : "");
		sent(peer, size);
		break;
	case 2:
		if (is_quiet(c, i))
			return;
		step(m, e, "recvnamed %s %u%s", e->name, size,
		     chance(m, 30) ? " flags=cloexec" : "");
		taken(e, size);
		break;
	case 3:
		if (!e->unread || e->pieces > 15)
			return;
		step(m, e, "pipeout %s %u", e->name, size);
		taken(e, size);
		break;
	default:
		step(m, e, "recvnamed %s 100 flags=errqueue", e->name);
	}
}

/* A sleeping wait is changed by another thread. */
void write_changed_wait(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned serial = ++m->serial;

	if (e->task || !is_quiet(c, i) || !can_send(c, !i) ||
	    (e->actor == peer->actor && peer->task))
		return;
	unwatch(m, e);
	step(m, e, "epnew w%u", serial);
	step(m, e, "epnew v%u", serial);
	step(m, e, "epctl v%u add w%u events=in%s", serial, serial,
	     chance(m, 50) ? "|et" : "");
	step(m, e, "epctl w%u add %s events=%s", serial, e->name,
	     chance(m, 50) ? "pri" : "rdhup|et");
	line(m, "%c1& epwait %c%u 9000", e->actor, chance(m, 50) ? 'v' : 'w',
	     serial);
	line(m, "blocked %c1", e->actor);
	if (chance(m, 50)) {
		step(m, e, "epctl w%u mod %s events=out%s", serial, e->name,
		     chance(m, 50) ? "|et" : "");
	} else {
		step(m, e, "epctl w%u mod %s events=in%s", serial, e->name,
		     chance(m, 50) ? "|oneshot" : "");
		step(m, peer, "send %s 20 %u", peer->name, next_pattern(m));
		sent(e, 20);
	}
	line(m, "%c1=", e->actor);
	arrive(m, c, i);
	step(m, e, "epwait w%u 0", serial);
	step(m, e, "close v%u", serial);
	step(m, e, "close w%u", serial);
}

/* Nobody listens; or somebody does who is asked again. Beside the connection.
 */
void write_refused(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	unsigned serial = ++m->serial;

	if (e->task)
		return;
	m->listener++;
	step(m, e, "listen l%d 127.0.0.1", m->listener);
	step(m, e, "socket x%u inet", serial);
	if (chance(m, 50)) {
		step(m, e, "close l%d", m->listener);
		step(m, e, "connect x%u 127.0.0.1 @l%d", serial, m->listener);
		step(m, e, "send x%u 10 1", serial);
		step(m, e, "poll 0 x%u:in|out", serial);
	} else {
		step(m, e, "bind x%u 127.0.0.1", serial);
		step(m, e, "connect x%u 127.0.0.1 @l%d", serial, m->listener);
		step(m, e, "connect x%u 127.0.0.1 @l%d", serial, m->listener);
		step(m, e, "disconnect x%u", serial);
		step(m, e, "names x%u", serial);
		step(m, e, "close l%d", m->listener);
	}
	step(m, e, "close x%u", serial);
}
