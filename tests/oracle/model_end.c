/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_end: how connections end. */
#include "model.h"

void write_shutdown(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	if (chance(m, 75)) {
		finish_sending(m, e);
	} else {
		/* As in finish_sending(). */
		if (e->fin_sent)
			arrive(m, c, i);
		step(m, e, "shutdown %s rd", e->name);
		e->read_shut = true;
	}
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
		if (!c->ends[dead].unread) {
			/* TCP answers the next bytes when it can. */
			step(m, left, "await %s events=rdhup", left->name);
			look_at_end(m, c, !dead);
			continue;
		}
		if (left->fin_sent && c->ends[dead].fin_sent)
			step(m, left, "settle %s", left->name);
		else
			step(m, left, "await %s events=err|hup", left->name);
		look_at_loss(m, c, !dead);
	}
}

/* A reset meets a call that has sent a part. */
void write_part_reset(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (e->task || peer->task || e->actor == peer->actor ||
	    !can_send(c, i) || peer->read_shut || e->unread || peer->fin_sent)
		return;
	unwatch(m, e);
	unwatch(m, peer);
	set_blocking(m, e);
	line(m, "%c1& sendall %s 8000000 %u chunk=%u", e->actor, e->name,
	     next_pattern(m), 3000 + pick(m, 1000000));
	line(m, "blocked %c1", e->actor);
	if (chance(m, 50))
		step(m, peer, "set %s linger 1 0", peer->name);
	step(m, peer, "close %s", peer->name);
	line(m, "%c1=", e->actor);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	step(m, e, "send %s 10 1", e->name);
	step(m, e, "recvend %s", e->name);
	step(m, e, "close %s", e->name);
	forget(c);
}
