/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_hands: how ends get other names, and go to other processes. */
#include "model.h"

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
	/* What lies in a ring that the stream has left, or of a socket that is
	 * shut both ways, cannot be shared with a process without the
	 * library. */
	if ((c->moved || (e->read_shut && e->fin_sent)) && *image)
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

	to.actor = other_actor(e->actor);
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

/* Both ends go on while the descriptor is under way. */
void write_flight(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	struct end to = *e;

	to.actor = other_actor(e->actor);
	if (e->task || peer->task || !can_send(c, i) || !can_send(c, !i) ||
	    e->unread > 20000 || peer->unread > 20000 || e->pieces > 60 ||
	    peer->pieces > 60)
		return;
	unwatch(m, e);
	c->moved = true;
	snprintf(to.name, sizeof(to.name), "r%u", ++m->serial);
	to.watched = false;
	step(m, peer, "send %s 700 %u", peer->name, next_pattern(m));
	sent(e, 700);
	step(m, e, "sendfd u0 %s", e->name);
	step(m, e, "send %s 500 %u", e->name, next_pattern(m));
	sent(peer, 500);
	step(m, peer, "send %s 300 %u", peer->name, next_pattern(m));
	sent(e, 300);
	if (chance(m, 50)) {
		arrive(m, c, i);
		step(m, e, "recv %s 200", e->name);
		taken(e, 200);
	}
	step(m, e, "close %s", e->name);
	step(m, peer, "send %s 400 %u", peer->name, next_pattern(m));
	to.unread = e->unread;
	to.pieces = e->pieces;
	sent(&to, 400);
	step(m, &to, "recvfd u0 %s", to.name);
	*e = to;
	arrive(m, c, i);
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
