/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_ready: steps that ask for readiness, and steps that sleep.
 */
#include <stddef.h>

#include "model.h"

static bool same_lane(const struct end *a, const struct end *b)
{
	return a->actor == b->actor && a->task == b->task;
}

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

/* What ends a wait at end i: bytes of the peer, or its end of stream. */
static unsigned wake(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 1200);

	if (chance(m, 20)) {
		finish_sending(m, peer);
		return 0;
	}
	step(m, peer, "send %s %u %u", peer->name, size, next_pattern(m));
	sent(e, size);
	return size;
}

/*
 * Can end i sleep until its peer, in another lane, does something? It leaves
 * the epoll: bytes that come and are taken by a sleeper make an edge of which
 * nothing is left to be told.
 */
static bool can_sleep(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	if (!is_quiet(c, i) || !can_send(c, !i) ||
	    (e->task && same_lane(e, &c->ends[!i])))
		return false;
	unwatch(m, e);
	set_blocking(m, e);
	return true;
}

void write_blocked_recv(struct model *m, struct connection *c, int i)
{
	static const char *const via[] = {"recv",    "read",     "readv",
					  "recvmsg", "recvfrom", "syscall",
					  "preadv2"};
	struct end *e = &c->ends[i];
	char lane[3] = {e->actor, (char)('0' + blocking_task(e)), 0};
	unsigned got;

	if (!can_sleep(m, c, i))
		return;
	if (chance(m, 20)) {
		line(m, "%s& recv %s 600 flags=waitall", lane, e->name);
		line(m, "blocked %s", lane);
		step(m, &c->ends[!i], "send %s 200 %u", c->ends[!i].name,
		     next_pattern(m));
		line(m, "blocked %s", lane);
		step(m, &c->ends[!i], "send %s 400 %u", c->ends[!i].name,
		     next_pattern(m));
		line(m, "%s=", lane);
		return;
	}
	if (chance(m, 10)) {
		line(m, "%s& recv %s 100 flags=peek", lane, e->name);
		line(m, "blocked %s", lane);
		wake(m, c, i);
		line(m, "%s=", lane);
		return;
	}
	line(m, "%s& recv %s 2000 via=%s", lane, e->name, PICK(m, via));
	if (chance(m, 80))
		line(m, "blocked %s", lane);
	got = wake(m, c, i);
	line(m, "%s=", lane);
	taken(e, got);
}

void write_blocked_wait(struct model *m, struct connection *c, int i)
{
	static const char *const events[] = {"in", "in|et", "in|oneshot",
					     "in|rdhup"};
	struct end *e = &c->ends[i];
	char lane[3] = {e->actor, (char)('0' + blocking_task(e)), 0};
	unsigned serial = ++m->serial;

	if (!can_sleep(m, c, i))
		return;
	switch (pick(m, 3)) {
	case 0:
		line(m, "%s& poll 9000 %s:in%s", lane, e->name,
		     chance(m, 50) ? " via=ppoll" : "");
		break;
	case 1:
		line(m, "%s& select 9000 %s:in%s", lane, e->name,
		     chance(m, 50) ? " via=pselect" : "");
		break;
	default:
		step(m, e, "epnew w%u", serial);
		step(m, e, "epctl w%u add %s events=%s", serial, e->name,
		     PICK(m, events));
		line(m, "%s& epwait w%u 9000", lane, serial);
		serial = 0;
	}
	if (chance(m, 80))
		line(m, "blocked %s", lane);
	wake(m, c, i);
	line(m, "%s=", lane);
	if (!serial)
		step(m, e, "close w%u", m->serial);
}

void write_signal(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	char lane[3] = {e->actor, (char)('0' + blocking_task(e)), 0};
	bool restart = chance(m, 50);
	const char *sleeps[] = {"recv", "poll"};
	const char *sleep = PICK(m, sleeps);

	if (!can_sleep(m, c, i))
		return;
	step(m, e, "handler USR1 %s", restart ? "restart" : "norestart");
	if (sleep[0] == 'p')
		line(m, "%s& poll 9000 %s:in", lane, e->name);
	else
		line(m, "%s& recv %s 100%s", lane, e->name,
		     chance(m, 50) ? " via=read" : "");
	line(m, "blocked %s", lane);
	if (!restart || sleep[0] == 'p') {
		line(m, "interrupt %s USR1", lane);
		step(m, e, "handled");
		return;
	}
	line(m, "signal %s USR1", lane);
	line(m, "blocked %s", lane);
	step(m, &c->ends[!i], "send %s 50 %u", c->ends[!i].name,
	     next_pattern(m));
	line(m, "%s=", lane);
	step(m, e, "handled");
}

void write_timeout(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	if (!can_sleep(m, c, i))
		return;
	if (chance(m, 50)) {
		step(m, e, "poll 30 %s:in", e->name);
		return;
	}
	step(m, e, "set %s rcvtimeo 30", e->name);
	step(m, e, "recv %s 10", e->name);
	step(m, &c->ends[!i], "send %s 4 %u", c->ends[!i].name,
	     next_pattern(m));
	step(m, e, "await %s bytes=4", e->name);
	step(m, e, "recv %s 10%s", e->name,
	     chance(m, 50) ? " flags=waitall" : "");
	step(m, e, "set %s rcvtimeo 0", e->name);
}
