/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_life: how connections begin, change hands and end.
 */
#include "model.h"

#include <string.h>

static void end_make(struct model *m, struct end *e, char actor, char letter)
{
	memset(e, 0, sizeof(*e));
	e->actor = actor;
	snprintf(e->name, sizeof(e->name), "%c%u", letter, m->serial);
}

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
	step(m, e, "socket %s %s%s", e->name,
	     strchr(address, ':') ? "inet6" : "inet",
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
	char server = chance(m, 85) ? (char)('A' + 'B' - client) : client;
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

/* The old name is closed; the connection stays. */
void write_dup(struct model *m, struct connection *c, int i)
{
	static const char *const via[] = {"dup", "dup2", "dup3", "fcntl"};
	static const char *const close_via[] = {"close", "range", "syscall"};
	struct end *e = &c->ends[i];
	char name[sizeof(e->name)];

	unwatch(m, e);
	snprintf(name, sizeof(name), "d%u", ++m->serial);
	step(m, e, "dup %s %s via=%s", e->name, name, PICK(m, via));
	step(m, e, "close %s via=%s", e->name, PICK(m, close_via));
	snprintf(e->name, sizeof(e->name), "%s", name);
}

static int next_child(struct model *m, char actor)
{
	int *last = &m->children[actor - 'A'];

	if (*last < 3 || *last >= 7)
		*last = 3;
	return ++*last;
}

static bool child_in_use(const struct model *m, char actor, int task)
{
	for (int k = 0; k < CONNECTIONS; k++)
		for (int j = 0; j < 2; j++)
			if (m->connections[k].used &&
			    m->connections[k].ends[j].actor == actor &&
			    m->connections[k].ends[j].task == task)
				return true;
	return false;
}

/* The bytes both write go into one stream, in the order of the steps. */
static void share_with_child(struct model *m, struct connection *c, int i,
			     const struct end *child)
{
	struct end *e = &c->ends[i];

	write_send(m, c, i);
	if (can_send(c, i)) {
		step(m, child, "send %s 300 %u", e->name, next_pattern(m));
		sent(&c->ends[!i], 300);
	}
	write_send(m, c, i);
	if (!is_quiet(c, i)) {
		arrive(m, c, i);
		step(m, child, "recv %s 100", e->name);
		taken(e, 100);
		write_recv(m, c, i);
	}
	write_recv(m, c, !i);
}

static void read_all(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	if (e->unread)
		step(m, e, "recv %s %u", e->name, e->unread);
	taken(e, e->unread);
}

/*
 * A forked child shares the end. Then either it goes away, which nobody may
 * notice, or the parent closes and the child carries the connection on, in
 * this image or in another one.
 */
void write_child(struct model *m, struct connection *c, int i)
{
	static const char *const via[] = {"fork", "fork", "fork", "raw",
					  "clone"};
	static const char *const images[] = {
	    "", "", "", " exec=same", " exec=bare", " exec=static"};
	struct end *e = &c->ends[i];
	struct end child = *e;
	const char *image = PICK(m, images);

	if (e->task || c->ends[!i].actor == e->actor)
		return;
	child.task = next_child(m, e->actor);
	if (child_in_use(m, e->actor, child.task))
		return;
	unwatch(m, e);
	/* What lies in a ring that the stream has left cannot be shared with
	 * somebody who has no library. */
	if (c->moved && *image)
		read_all(m, c, i);
	c->moved |= *image != 0;
	step(m, e, "fork %d keep=%s%s via=%s", child.task, e->name, image,
	     *image ? "fork" : PICK(m, via));
	share_with_child(m, c, i, &child);
	if (chance(m, 50)) {
		if (chance(m, 50))
			step(m, &child, "close %s", e->name);
		step(m, &child, "exit 0");
		step(m, e, "reap");
		share_with_child(m, c, i, e);
		return;
	}
	step(m, e, "close %s", e->name);
	e->task = child.task;
}

/* The end moves to the other process through an AF_UNIX socket. */
void write_pass(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	struct end to = *e;

	to.actor = (char)('A' + 'B' - e->actor);
	if (e->task || c->ends[!i].task)
		return;
	unwatch(m, e);
	c->moved = true;
	to.watched = false;
	snprintf(to.name, sizeof(to.name), "r%u", ++m->serial);
	step(m, e, "sendfd u0 %s", e->name);
	if (chance(m, 50))
		step(m, e, "close %s", e->name);
	else
		e->watched = true; /* here: still to be closed */
	step(m, &to, "recvfd u0 %s", to.name);
	if (e->watched)
		step(m, e, "close %s", e->name);
	*e = to;
}

static void forget(struct connection *c)
{
	c->used = false;
}

/* A child task ends when its end does. */
static void close_end(struct model *m, struct end *e, bool exits)
{
	if (e->task && exits) {
		step(m, e, "exit 0");
		line(m, "%c0 reap", e->actor);
		return;
	}
	step(m, e, "close %s", e->name);
	if (e->task) {
		step(m, e, "exit 0");
		line(m, "%c0 reap", e->actor);
	}
}

/* A program that is spawned inherits all that its parent has. */
static void all_moved(struct model *m, char actor)
{
	for (int k = 0; k < CONNECTIONS; k++) {
		struct connection *c = &m->connections[k];

		for (int j = 0; j < 2; j++)
			if (c->used && c->ends[j].actor == actor &&
			    !c->ends[j].task)
				c->moved = true;
	}
}

/* A program that knows nothing of us gets the end as its standard files. */
void write_cat(struct model *m, struct connection *c, int i)
{
	static const char *const via[] = {"fork", "vfork", "spawn"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 20000);

	if (e->task || e->read_shut || peer->read_shut || e->fin_sent ||
	    peer->fin_sent || (e->unread && !m->more) || peer->unread ||
	    e->actor == peer->actor)
		return;
	arrive(m, c, i);
	set_blocking(m, e);
	unwatch(m, e);
	all_moved(m, e->actor);
	step(m, e, "spawn %s cat via=%s", e->name, PICK(m, via));
	step(m, e, "close %s", e->name);
	step(m, peer, "send %s %u %u", peer->name, size, next_pattern(m));
	step(m, peer, "await %s bytes=%u", peer->name, size + e->unread);
	step(m, peer, "recv %s %u", peer->name, size + e->unread);
	step(m, peer, "shutdown %s wr", peer->name);
	step(m, peer, "recvend %s", peer->name);
	step(m, e, "reap");
	unwatch(m, peer);
	close_end(m, peer, false);
	forget(c);
}

/* What the end sees that is left behind: by the bytes, by errors, by bits. */
static void look_at_loss(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	if (e->watched && !e->task)
		look_at_epoll(m, e, c);
	if (chance(m, 40))
		step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	if (chance(m, 30))
		step(m, e, "get %s error", e->name);
	if (chance(m, 30))
		step(m, e, "send %s 10 1", e->name);
	if (chance(m, 20))
		step(m, e, "fionread %s", e->name);
	step(m, e, "recvend %s", e->name);
	step(m, e, "send %s 10 1 flags=%s", e->name,
	     chance(m, 50) ? "nosignal" : "-");
	step(m, e, "recv %s 10 flags=dontwait", e->name);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	unwatch(m, e);
	close_end(m, e, chance(m, 30));
	forget(c);
}

/* The peer has closed in order; sending to it then fails in two steps. */
static void look_at_end(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	if (e->watched && !e->task)
		look_at_epoll(m, e, c);
	step(m, e, "recvend %s", e->name);
	e->unread = 0;
	if (!e->fin_sent && chance(m, 60)) {
		step(m, e, "send %s 10 %u", e->name, next_pattern(m));
		step(m, e, "await %s events=err|hup", e->name);
		look_at_loss(m, c, i);
		return;
	}
	unwatch(m, e);
	close_end(m, e, chance(m, 30));
	forget(c);
}

static void finish_by_reset(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	bool ended = e->fin_sent && peer->fin_sent;

	if (!e->unread || chance(m, 30))
		step(m, e, "set %s linger 1 0", e->name);
	unwatch(m, e);
	close_end(m, e, chance(m, 30));
	if (ended)
		step(m, peer, "settle %s", peer->name);
	else
		step(m, peer, "await %s events=err|hup", peer->name);
	look_at_loss(m, c, !i);
}

static void finish_in_order(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	read_all(m, c, i);
	if (chance(m, 20))
		step(m, e, "set %s linger 1 1", e->name);
	unwatch(m, e);
	close_end(m, e, chance(m, 30));
	e->fin_sent = true;
	look_at_end(m, c, !i);
}

/* Both ends say that they have finished and both read to the end. */
static void finish_halves(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (!e->fin_sent)
		finish_sending(m, e);
	arrive(m, c, !i);
	step(m, peer, "recvend %s", peer->name);
	if (!peer->fin_sent)
		step(m, peer, "shutdown %s wr", peer->name);
	peer->fin_sent = true;
	arrive(m, c, i);
	step(m, e, "recvend %s", e->name);
	for (int j = 0; j < 2; j++)
		step(m, &c->ends[j], "await %s events=hup", c->ends[j].name);
	if (e->watched || peer->watched)
		step(m, peer, "settle %s", peer->name);
	for (int j = 0; j < 2; j++) {
		struct end *x = &c->ends[j];

		if (x->watched && !x->task)
			look_at_epoll(m, x, c);
		unwatch(m, x);
		close_end(m, x, chance(m, 30));
	}
	forget(c);
}

/* shutdown RDWR, then data against it: answered with a reset. */
static void finish_against_wall(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	step(m, e, "shutdown %s rdwr", e->name);
	step(m, e, "outq %s", e->name);
	e->fin_sent = true;
	arrive(m, c, !i);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	step(m, e, "recvend %s", e->name);
	if (!peer->fin_sent) {
		step(m, peer, "send %s 10 %u", peer->name, next_pattern(m));
		step(m, peer, "await %s events=err|hup", peer->name);
		step(m, e, "await %s events=hup", e->name);
	}
	step(m, e, "get %s error", e->name);
	unwatch(m, e);
	close_end(m, e, false);
	look_at_loss(m, c, !i);
}

void write_finish(struct model *m, struct connection *c, int i)
{
	arrive(m, c, i);
	arrive(m, c, !i);
	switch (pick(m, 8)) {
	case 0:
	case 1:
	case 2:
		finish_in_order(m, c, i);
		break;
	case 3:
	case 4:
		finish_by_reset(m, c, i);
		break;
	case 5:
		finish_against_wall(m, c, i);
		break;
	default:
		finish_halves(m, c, i);
	}
}

/* Only connections whose other end is in a living process are looked at. */
void write_kill(struct model *m, char actor)
{
	for (int k = 0; k < CONNECTIONS; k++) {
		struct connection *c = &m->connections[k];

		for (int j = 0; c->used && j < 2; j++)
			arrive(m, c, j);
	}
	line(m, "kill %c0 KILL", actor);
	for (int k = 0; k < CONNECTIONS; k++) {
		struct connection *c = &m->connections[k];
		int dead =
		    c->ends[0].actor == actor && !c->ends[0].task ? 0 : 1;
		struct end *left = &c->ends[!dead];

		if (!c->used || c->ends[dead].actor != actor ||
		    c->ends[dead].task || left->actor == actor)
			continue;
		if (!c->ends[dead].unread)
			step(m, left, "await %s events=rdhup", left->name);
		else if (left->fin_sent && c->ends[dead].fin_sent)
			step(m, left, "settle %s", left->name);
		else
			step(m, left, "await %s events=err|hup", left->name);
		look_at_loss(m, c, !dead);
	}
}
