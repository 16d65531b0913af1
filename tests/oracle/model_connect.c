/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_connect: how connections begin. */
#include "model.h"

/* How a program learns of the success of a non-blocking connect. */
enum learning {
	BY_WAITING,
	BY_POLL,
	BY_SELECT,
	BY_EPOLL
};

static void connect_begin(struct model *m, const struct end *e,
			  const char *address, enum learning how)
{
	step(m, e, "socket %s %s%s", e->name, family(address),
	     e->nonblock ? " nonblock" : "");
	if (e->nonblock && how == BY_EPOLL) {
		step(m, e, "epnew w%u", m->serial);
		step(m, e, "epctl w%u add %s events=out%s", m->serial, e->name,
		     chance(m, 50) ? "|et" : "");
	}
	step(m, e, "connect %s %s @l%d", e->name, address, m->listener);
}

static void connect_end(struct model *m, const struct end *e, enum learning how)
{
	switch (how) {
	case BY_WAITING:
		step(m, e, "await %s events=out", e->name);
		break;
	case BY_POLL:
		step(m, e, "poll 9000 %s:out", e->name);
		break;
	case BY_SELECT:
		step(m, e, "select 9000 %s:out", e->name);
		break;
	case BY_EPOLL:
		step(m, e, "epwait w%u 9000", m->serial);
		step(m, e, "close w%u", m->serial);
		break;
	}
	step(m, e, "get %s error", e->name);
}

static void write_accept(struct model *m, struct end *e)
{
	unsigned flags = pick(m, 3);

	step(m, e, "await l%d events=in", m->listener);
	step(m, e, "accept l%d %s%s", m->listener, e->name,
	     flags == 0   ? ""
	     : flags == 1 ? " via=accept4"
			  : " via=accept4 nonblock");
	e->nonblock = flags == 2;
	step(m, e, "close l%d", m->listener);
}

/*
 * Both ends have to look at their sockets for a while before they agree on
 * more than TCP; a process that is not asked to would not.
 */
static void write_meeting(struct model *m, const struct connection *c,
			  bool asks, enum learning how)
{
	const struct end *client = &c->ends[0], *server = &c->ends[1];

	if (client->actor == server->actor) {
		step(m, client, "meet %s %s", client->name, server->name);
		if (asks)
			connect_end(m, client, how);
		return;
	}
	line(m, "%c0& await %s events=out", server->actor, server->name);
	if (asks)
		connect_end(m, client, how);
	step(m, client, "await %s events=out", client->name);
	line(m, "%c0=", server->actor);
	/* The server knows last: the client may have been first to return. */
	step(m, server, "await %s events=out", server->name);
}

void write_connect(struct model *m, struct connection *c)
{
	static const char *const addresses[] = {"127.0.0.1", "127.0.0.1",
						"127.0.0.1", "::1"};
	const char *address = PICK(m, addresses);
	char client = chance(m, 50) ? 'A' : 'B';
	char server = chance(m, 85) ? other_actor(client) : client;
	enum learning how = (enum learning)pick(m, 4);
	/* Mostly the server does not wait for the client to look. */
	bool early = chance(m, 75);

	m->listener++;
	m->serial++;
	c->used = true;
	c->moved = false;
	c->address = address;
	end_make(m, &c->ends[0], client, 'c');
	end_make(m, &c->ends[1], server, 's');
	c->ends[0].nonblock = chance(m, 40);
	step(m, &c->ends[1], "listen l%d %s", m->listener, address);
	connect_begin(m, &c->ends[0], address, how);
	if (!early && c->ends[0].nonblock)
		connect_end(m, &c->ends[0], how);
	write_accept(m, &c->ends[1]);
	write_meeting(m, c, early && c->ends[0].nonblock, how);
}

static void finish_peer(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	step(m, e, "await %s events=err|hup", e->name);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	step(m, e, "recvend %s", e->name);
	step(m, e, "send %s 10 1", e->name);
	unwatch(m, e);
	close_end(m, e, false);
}

/* connect to AF_UNSPEC; the same descriptor is then another connection. */
void write_reconnect(struct model *m, struct connection *c, int i)
{
	struct end e = c->ends[i];
	const struct end *peer = &c->ends[!i];
	struct end other;

	if (e.task || peer->task || e.fin_sent || peer->fin_sent ||
	    e.actor == peer->actor)
		return;
	arrive(m, c, i);
	arrive(m, c, !i);
	unwatch(m, &c->ends[i]);
	set_blocking(m, &e);
	step(m, &e, "disconnect %s", e.name);
	step(m, &e, "poll 0 %s:in|out", e.name);
	finish_peer(m, c, !i);
	m->listener++;
	other = *peer;
	snprintf(other.name, sizeof(other.name), "s%u", ++m->serial);
	e.unread = other.unread = e.pieces = other.pieces = 0;
	e.watched = e.read_shut = other.read_shut = other.nonblock = false;
	step(m, &other, "listen l%d %s", m->listener, c->address);
	step(m, &e, "connect %s %s @l%d", e.name, c->address, m->listener);
	step(m, &other, "await l%d events=in", m->listener);
	step(m, &other, "accept l%d %s", m->listener, other.name);
	step(m, &other, "close l%d", m->listener);
	c->ends[0] = e;
	c->ends[1] = other;
	c->moved = false;
	line(m, "%c0& await %s events=out", other.actor, other.name);
	step(m, &e, "await %s events=out", e.name);
	line(m, "%c0=", other.actor);
}

/* Calls for sockets that are not yet connected, or not any more. */
void write_misplaced(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	switch (pick(m, 6)) {
	case 0:
		step(m, e, "connect %s 127.0.0.1 1", e->name);
		break;
	case 1:
		step(m, e, "listenon %s", e->name);
		break;
	case 2:
		step(m, e, "bind %s 127.0.0.1", e->name);
		break;
	case 3:
		step(m, e, "accept %s x%u", e->name, ++m->serial);
		break;
	case 4:
		step(m, e, "refused %s", e->name);
		break;
	default:
		step(m, e, "shutdown %s 7", e->name);
		step(m, e, "flags %s", e->name);
	}
}

/* A client that talks, or is done, before anybody accepts. */
void write_early(struct model *m, struct connection *c, int i)
{
	struct end client, server;
	unsigned size = 1 + pick(m, 9000);
	bool mapped = chance(m, 30);

	if (c->ends[i].task)
		return;
	m->listener++;
	m->serial++;
	end_make(m, &client, c->ends[i].actor, 'y');
	end_make(m, &server, other_actor(client.actor), 'z');
	step(m, &server, "listen l%d %s", m->listener,
	     mapped ? "::" : "127.0.0.1");
	if (chance(m, 20))
		step(m, &server, "option l%d 6 9 30", m->listener);
	if (chance(m, 20))
		step(m, &server, "set l%d nodelay 1", m->listener);
	step(m, &client, "socket %s %s", client.name,
	     mapped ? "inet6" : "inet");
	step(m, &client, "connect %s %s @l%d", client.name,
	     mapped ? "::ffff:127.0.0.1" : "127.0.0.1", m->listener);
	step(m, &client, "send %s %u %u", client.name, size, next_pattern(m));
	if (chance(m, 30))
		step(m, &client, "shutdown %s wr", client.name);
	step(m, &client, "poll 0 %s:in|rdhup", client.name);
	step(m, &server, "await l%d events=in", m->listener);
	step(m, &server, "accept l%d %s", m->listener, server.name);
	step(m, &server, "get %s nodelay", server.name);
	step(m, &server, "await %s bytes=%u", server.name, size);
	step(m, &server, "recv %s %u", server.name, size / 2);
	step(m, &server, "send %s 30 %u", server.name, next_pattern(m));
	step(m, &client, "recv %s 30 flags=waitall", client.name);
	step(m, &server, "recv %s %u", server.name, size);
	step(m, &client, "names %s", client.name);
	step(m, &client, "close %s", client.name);
	step(m, &server, "recvend %s", server.name);
	step(m, &server, "close %s", server.name);
	step(m, &server, "close l%d", m->listener);
}

/* Nobody listens; or a listener is asked again. Beside the connection. */
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
