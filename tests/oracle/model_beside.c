/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_beside: sleeps that another thread of the same process shares, changes
 * or ends. */
#include "model.h"

/* Threads of this end's process may wait for what its peer does meanwhile. */
static bool can_be_awaited(const struct connection *c, int i)
{
	const struct end *e = &c->ends[i], *peer = &c->ends[!i];

	return !e->task && is_quiet(c, i) && can_send(c, !i) &&
	       (e->actor != peer->actor || !peer->task);
}

/* A sleeping wait is changed by another thread. */
void write_changed_wait(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned serial = ++m->serial;

	if (!can_be_awaited(c, i))
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

/* Two threads wait for the same bytes, each in its way. */
void write_two_waiters(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned serial = ++m->serial;

	if (!can_be_awaited(c, i))
		return;
	unwatch(m, e);
	step(m, e, "epnew w%u", serial);
	step(m, e, "epctl w%u add %s events=in|rdhup%s", serial, e->name,
	     chance(m, 50) ? "|et" : "");
	line(m, "%c1& %s 9000 %s:in", e->actor,
	     chance(m, 50) ? "poll" : "select", e->name);
	line(m, "%c2& epwait w%u 9000", e->actor, serial);
	line(m, "blocked %c1", e->actor);
	line(m, "blocked %c2", e->actor);
	switch (pick(m, 3)) {
	case 0:
		finish_sending(m, peer);
		break;
	case 1:
		if (!e->read_shut && e->actor != peer->actor) {
			step(m, e, "shutdown %s rd", e->name);
			e->read_shut = true;
			break;
		}
		/* fall through */
	default:
		step(m, peer, "send %s 30 %u", peer->name, next_pattern(m));
		sent(e, 30);
	}
	line(m, "%c1=", e->actor);
	line(m, "%c2=", e->actor);
	arrive(m, c, i);
	step(m, e, "epwait w%u 0", serial);
	step(m, e, "close w%u", serial);
}

/* Two threads see the same bytes. */
void write_two_peeks(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (e->task || e->actor == peer->actor || !is_quiet(c, i) ||
	    !can_send(c, !i))
		return;
	unwatch(m, e);
	set_blocking(m, e);
	line(m, "%c1& recv %s 900 flags=peek", e->actor, e->name);
	line(m, "%c2& recv %s 900 flags=peek", e->actor, e->name);
	line(m, "blocked %c1", e->actor);
	line(m, "blocked %c2", e->actor);
	step(m, peer, "send %s 80 %u", peer->name, next_pattern(m));
	sent(e, 80);
	line(m, "%c1=", e->actor);
	line(m, "%c2=", e->actor);
}

/* A sleeper's own process ends what it waits for. */
void write_shut_asleep(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];
	unsigned serial = ++m->serial;

	if (e->task || !is_quiet(c, i) || c->ends[!i].task)
		return;
	unwatch(m, e);
	set_blocking(m, e);
	switch (pick(m, 4)) {
	case 0:
		line(m, "%c1& recv %s 100", e->actor, e->name);
		break;
	case 1:
		line(m, "%c1& recv %s 100 flags=waitall", e->actor, e->name);
		break;
	case 2:
		line(m, "%c1& poll 9000 %s:in|rdhup", e->actor, e->name);
		break;
	default:
		step(m, e, "epnew w%u", serial);
		step(m, e, "epctl w%u add %s events=in|rdhup", serial, e->name);
		line(m, "%c1& epwait w%u 9000", e->actor, serial);
		serial = 0;
	}
	line(m, "blocked %c1", e->actor);
	step(m, e, "shutdown %s rd", e->name);
	e->read_shut = true;
	line(m, "%c1=", e->actor);
	if (!serial)
		step(m, e, "close w%u", m->serial);
}

/* What is left when one end's socket has gone. */
static void leave_peer(struct model *m, struct connection *c, int i)
{
	struct end *peer = &c->ends[i];

	arrive(m, c, i);
	step(m, peer, "await %s events=rdhup", peer->name);
	step(m, peer, "poll 0 %s:in|out|rdhup", peer->name);
	if (peer->watched && !peer->task)
		look_at_epoll(m, peer, c);
	step(m, peer, "recvend %s", peer->name);
	unwatch(m, peer);
	close_end(m, peer, false);
}

/* The descriptor ends under a call of another thread, which keeps the socket;
 * then something ends that call. */
void write_gone_asleep(struct model *m, struct connection *c, int i)
{
	static const char *const calls[] = {
	    "100", "100 via=recvmsg", "100 via=readv", "40 flags=waitall"};
	static const char *const via[] = {"close", "range", "syscall"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned how = pick(m, 5), serial = ++m->serial;

	if (e->task || !is_quiet(c, i) || !can_send(c, !i))
		return;
	arrive(m, c, !i);
	unwatch(m, e);
	set_blocking(m, e);
	line(m, "%c1& recv %s %s", e->actor, e->name, PICK(m, calls));
	line(m, "blocked %c1", e->actor);
	if (how == 0)
		step(m, e, "shutdown %s rdwr", e->name);
	if (chance(m, 30)) {
		step(m, e, "socket x%u inet", serial);
		step(m, e, "dup x%u %s via=dup2", serial, e->name);
		step(m, e, "close x%u", serial);
	} else {
		step(m, e, "close %s via=%s", e->name, PICK(m, via));
	}
	if (how == 1) {
		step(m, peer, "shutdown %s wr", peer->name);
	} else if (how == 2 && !peer->task && !peer->watched) {
		step(m, peer, "set %s linger 1 0", peer->name);
		step(m, peer, "close %s", peer->name);
	} else if (how != 0) {
		how = 3;
		step(m, peer, "send %s 40 %u", peer->name, next_pattern(m));
	}
	line(m, "%c1=", e->actor);
	if (how != 2)
		leave_peer(m, c, !i);
	forget(c);
}

/* A request that ends with its half, read by a thread that sleeps; the answer
 * ends with the connection. */
void write_request_end(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 20000);
	bool all = chance(m, 60);

	if (e->task || peer->task || e->actor == peer->actor ||
	    !is_quiet(c, i) || !is_quiet(c, !i))
		return;
	unwatch(m, e);
	unwatch(m, peer);
	set_blocking(m, e);
	set_blocking(m, peer);
	line(m, "%c1& %s %s%s", peer->actor, all ? "recvend" : "recv",
	     peer->name, all ? "" : " 3000 flags=waitall");
	if (chance(m, 80))
		line(m, "blocked %c1", peer->actor);
	step(m, e, "send %s 2000 %u", e->name, next_pattern(m));
	if (chance(m, 50))
		line(m, "%c1& recvend %s", e->actor, e->name);
	else
		line(m, "%c1& poll 9000 %s:rdhup", e->actor, e->name);
	step(m, e, "shutdown %s wr", e->name);
	line(m, "%c1=", peer->actor);
	if (chance(m, 50))
		step(m, peer, "sendfile %s %u %u offset=%u", peer->name, size,
		     next_pattern(m), pick(m, 100));
	else
		step(m, peer, "send %s %u %u via=writev", peer->name, size,
		     next_pattern(m));
	if (chance(m, 40))
		step(m, peer, "shutdown %s wr", peer->name);
	step(m, peer, "close %s", peer->name);
	line(m, "%c1=", e->actor);
	step(m, e, "recvend %s", e->name);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	step(m, e, "close %s", e->name);
	forget(c);
}
