/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_ready: steps that ask for readiness. */
#include "model.h"

#include <stddef.h>

/* All ends in the lane of this one, but those of one connection; what is on its
 * way to them arrives. */
static unsigned lane_ends(struct model *m, const struct end *e,
			  const struct connection *but,
			  const struct end **found)
{
	unsigned count = 0;

	for (int k = 0; k < CONNECTIONS; k++) {
		struct connection *c = &m->connections[k];

		for (int j = 0; j < 2; j++) {
			if (!c->used || c == but || !same_lane(&c->ends[j], e))
				continue;
			arrive(m, c, j);
			found[count++] = &c->ends[j];
		}
	}
	return count;
}

void look_at_epoll(struct model *m, const struct end *e,
		   const struct connection *but)
{
	const struct end *ends[2 * CONNECTIONS];

	lane_ends(m, e, but, ends);
	step(m, e, "epwait e%c 0", e->actor);
}

void write_poll(struct model *m, struct connection *c, int i)
{
	static const char *const asked[] = {"in",
					    "out",
					    "in|out",
					    "in|out|rdhup",
					    "rdhup",
					    "-",
					    "in|rdnorm|wrnorm|pri|rdband"};
	static const char *const selected[] = {"in", "out", "in|out",
					       "in|out|pri"};
	static const char *const via[] = {"poll", "ppoll", "poll_chk",
					  "ppoll_chk", "syscall"};
	const struct end *e = &c->ends[i], *ends[2 * CONNECTIONS];
	unsigned count = lane_ends(m, e, NULL, ends);
	bool is_select = chance(m, 35);

	fprintf(m->out, "%c%d %s 0", e->actor, e->task,
		is_select ? "select" : "poll");
	for (unsigned k = 0; k < count; k++)
		fprintf(m->out, " %s:%s", ends[k]->name,
			is_select ? PICK(m, selected) : PICK(m, asked));
	if (is_select)
		fprintf(m->out, " via=%s",
			chance(m, 40) ? "pselect" : "select");
	else
		fprintf(m->out, " via=%s", PICK(m, via));
	fputc('\n', m->out);
}

/*
 * An edge-triggered registration without "in" is not among them: the kernel
 * tells it of a peer's end, which changed nothing that it asked for.
 */
static const char *const epoll_events[] = {
    "in",          "in|out",           "out",
    "in|rdhup",    "in|out|rdhup|et",  "in|et",
    "in|out|et",   "in|oneshot",       "in|out|oneshot|et",
    "in|rdhup|et", "in|pri|out|rdhup",
};

void unwatch(struct model *m, struct end *e)
{
	if (e->watched)
		line(m, "%c0 epctl e%c del %s", e->actor, e->actor, e->name);
	e->watched = false;
}

static void write_epoll_wait(struct model *m, const struct end *e)
{
	static const char *const via[] = {"epoll_wait", "epoll_pwait",
					  "epoll_pwait2", "syscall"};
	const struct end *ends[2 * CONNECTIONS];
	unsigned rounds = 1 + pick(m, 2);

	lane_ends(m, e, NULL, ends);
	while (rounds--)
		step(m, e, "epwait e%c 0 via=%s", e->actor, PICK(m, via));
}

/* One instance per process, made at the start. */
void write_epoll(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	if (e->task)
		return;
	if (chance(m, 4)) {
		step(m, e, "epctl e%c %s %s events=in", e->actor,
		     e->watched ? "add" : "mod", e->name);
		return;
	}
	/*
	 * Bytes under way may raise an edge before or after the change, so
	 * they arrive first.
	 */
	arrive(m, c, i);
	if (!e->watched) {
		step(m, e, "epctl e%c add %s events=%s", e->actor, e->name,
		     PICK(m, epoll_events));
		e->watched = true;
	} else if (chance(m, 30)) {
		step(m, e, "epctl e%c mod %s events=%s", e->actor, e->name,
		     PICK(m, epoll_events));
	} else if (chance(m, 10)) {
		unwatch(m, e);
	}
	write_epoll_wait(m, e);
}

/* Armed again by MOD, exclusive, on both levels of a nest. */
void write_rearm(struct model *m, struct connection *c, int i)
{
	static const char *const events[] = {
	    "in|oneshot|et", "in|oneshot|wakeup", "in|out|rdhup|oneshot",
	    "in|exclusive",  "in|out|exclusive",  "in|et|exclusive"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned serial = ++m->serial;

	if (e->task)
		return;
	arrive(m, c, i);
	step(m, e, "epnew w%u", serial);
	step(m, e, "epnew v%u", serial);
	step(m, e, "epctl v%u add w%u events=in", serial, serial);
	step(m, e, "epctl w%u add %s events=%s", serial, e->name,
	     PICK(m, events));
	for (int round = 0; round < 3; round++) {
		step(m, e, "epwait v%u 0", serial);
		step(m, e, "epwait w%u 0", serial);
		step(m, e, "epwait w%u 0", serial);
		if (chance(m, 50) && can_send(c, !i) && e->unread < 20000 &&
		    e->pieces < 60) {
			step(m, peer, "send %s 40 %u", peer->name,
			     next_pattern(m));
			sent(e, 40);
			arrive(m, c, i);
		}
		if (chance(m, 60))
			step(m, e, "epctl w%u mod %s events=in|oneshot", serial,
			     e->name);
	}
	step(m, e, "epwait w%u 0", serial);
	step(m, e, "close w%u", serial);
	step(m, e, "close v%u", serial);
}
