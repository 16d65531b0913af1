/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_sleep: steps that sleep until the peer does something, a signal comes,
 * or the time is over. */
#include "model.h"

#include <string.h>

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

/* A signal that only the wait lets in. */
void write_masked(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	unsigned serial = ++m->serial;

	if (e->task || !is_quiet(c, i))
		return;
	unwatch(m, e);
	step(m, e, "handler USR1 %s", chance(m, 50) ? "restart" : "norestart");
	line(m, "%c1 mask USR1 block", e->actor);
	line(m, "signal %c1 USR1", e->actor);
	line(m, "%c1 recv %s 10 flags=dontwait", e->actor, e->name);
	step(m, e, "handled");
	switch (pick(m, 3)) {
	case 0:
		line(m, "%c1 poll 9000 %s:in via=ppoll", e->actor, e->name);
		break;
	case 1:
		line(m, "%c1 select 9000 %s:in via=pselect", e->actor, e->name);
		break;
	default:
		step(m, e, "epnew w%u", serial);
		step(m, e, "epctl w%u add %s events=in", serial, e->name);
		line(m, "%c1 epwait w%u 9000 via=%s", e->actor, serial,
		     chance(m, 50) ? "epoll_pwait" : "epoll_pwait2");
		step(m, e, "close w%u", serial);
	}
	step(m, e, "handled");
	line(m, "%c1 mask USR1 unblock", e->actor);
}

/* Limits of time, met with nothing, and with a part. */
void write_timed(struct model *m, struct connection *c, int i)
{
	static const char *const reads[] = {"flags=waitall",
					    "via=recvmsg flags=waitall",
					    "via=readv", "flags=waitall|peek"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 3000);
	const char *read = PICK(m, reads);

	if (!is_quiet(c, i) || !can_send(c, !i))
		return;
	unwatch(m, e);
	set_blocking(m, e);
	step(m, e, "set %s rcvtimeo %u", e->name, 15 + pick(m, 20));
	if (chance(m, 50))
		step(m, e, "recv %s 100 %s", e->name, read);
	step(m, peer, "send %s %u %u", peer->name, size, next_pattern(m));
	sent(e, size);
	arrive(m, c, i);
	step(m, e, "recv %s %u %s", e->name, size + 1 + pick(m, 50), read);
	if (!strstr(read, "peek"))
		taken(e, size);
	step(m, e, "set %s rcvtimeo 0", e->name);
}

/* A full stream under a timer that interrupts everything. */
void write_ticking(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (e->task || peer->task || e->actor == peer->actor ||
	    !can_send(c, i) || peer->unread || peer->read_shut)
		return;
	set_blocking(m, e);
	set_blocking(m, peer);
	line(m, "%c0 tick 2", e->actor);
	line(m, "%c0 tick 3", peer->actor);
	write_transfer(m, c, i);
	line(m, "%c0 tick 0", e->actor);
	line(m, "%c0 tick 0", peer->actor);
}
