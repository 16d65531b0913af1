/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_more: steps of the later seeds (GENERATE_MORE), which put together
 * what the scenarios try one at a time.
 */
#include "model.h"

#include <string.h>

/* Peeks and drops in every mixture of flags; none of them can wait. */
void write_flags(struct model *m, struct connection *c, int i)
{
	static const char *const looks[] = {
	    "peek|trunc", "peek|dontwait", "peek|trunc|dontwait",
	    "peek|waitall|dontwait", "peek|nosignal"};
	static const char *const via[] = {"recv", "recvfrom", "recvmsg",
					  "syscall"};
	struct end *e = &c->ends[i];
	unsigned size = 1 + pick(m, e->unread + e->unread / 3 + 5);

	arrive(m, c, i);
	if (is_quiet(c, i)) {
		step(m, e, "recv %s %u via=%s flags=dontwait|trunc%s", e->name,
		     size, PICK(m, via), chance(m, 50) ? "|peek" : "");
		return;
	}
	step(m, e, "recv %s %u via=%s flags=%s", e->name, size, PICK(m, via),
	     PICK(m, looks));
	if (chance(m, 50))
		return;
	if (chance(m, 50))
		step(m, e, "recv %s %u via=%s flags=trunc|dontwait%s", e->name,
		     size, PICK(m, via), chance(m, 30) ? "|waitall" : "");
	else
		step(m, e,
		     "recv %s %u via=recvmmsg flags=waitforone timeout=20",
		     e->name, size);
	taken(e, size);
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

static void close_end(struct model *m, struct end *e)
{
	unwatch(m, e);
	step(m, e, "close %s", e->name);
	if (e->task) {
		step(m, e, "exit 0");
		line(m, "%c0 reap", e->actor);
	}
}

static void finish_peer(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	step(m, e, "await %s events=err|hup", e->name);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	step(m, e, "recvend %s", e->name);
	step(m, e, "send %s 10 1", e->name);
	close_end(m, e);
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

/* A client that talks, or is done, before anybody accepts. */
void write_early(struct model *m, struct connection *c, int i)
{
	struct end client = {.actor = c->ends[i].actor};
	struct end server = {.actor = (char)('A' + 'B' - client.actor)};
	unsigned size = 1 + pick(m, 9000);
	bool mapped = chance(m, 30);

	if (c->ends[i].task)
		return;
	m->listener++;
	snprintf(client.name, sizeof(client.name), "y%u", ++m->serial);
	snprintf(server.name, sizeof(server.name), "z%u", m->serial);
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

/* Both ends go on while the descriptor is under way. */
void write_flight(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	struct end to = *e;

	to.actor = (char)('A' + 'B' - e->actor);
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

/* SIGIO when something comes, and not before; perhaps by another signal. */
void write_sigio(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (e->task || !is_quiet(c, i) || !can_send(c, !i))
		return;
	unwatch(m, e);
	c->moved = true;
	step(m, e, "handler IO restart");
	step(m, e, "async %s 1", e->name);
	step(m, peer, "send %s 10 %u", peer->name, next_pattern(m));
	sent(e, 10);
	arrive(m, c, i);
	step(m, e, "handled");
	step(m, e, "recv %s 10", e->name);
	taken(e, 10);
	step(m, e, "async %s 0", e->name);
	step(m, e, "handler IO ignore");
	step(m, e, "handled");
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

/* No room in the time that SO_SNDTIMEO gives. */
void write_send_limit(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned pattern = next_pattern(m);

	if (!can_send(c, i) || peer->unread || peer->read_shut)
		return;
	set_blocking(m, e);
	step(m, e, "fill %s %u", e->name, pattern);
	step(m, e, "set %s sndtimeo 30", e->name);
	step(m, e, "send %s 2000000 %u", e->name, pattern);
	step(m, e, "select 0 %s:out", e->name);
	step(m, e, "set %s sndtimeo 0", e->name);
	step(m, peer, "drain %s @filled %u", peer->name, pattern);
	step(m, e, "await %s events=out", e->name);
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

/* A stream of libc on a duplicate, for a while. */
void write_stdio(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned serial = ++m->serial;

	if (e->task || !is_quiet(c, i) || !can_send(c, i) || !can_send(c, !i) ||
	    peer->unread > 20000 || peer->pieces > 60)
		return;
	unwatch(m, e);
	set_blocking(m, e);
	c->moved = true;
	step(m, e, "dup %s d%u", e->name, serial);
	step(m, e, "fdopen f%u d%u r+", serial, serial);
	step(m, e, "fputs f%u out%06u", serial, serial);
	step(m, e, "fflush f%u", serial);
	sent(peer, 10);
	step(m, peer, "dprintf %s in%06u", peer->name, serial);
	step(m, e, "await %s bytes=9", e->name);
	step(m, e, "fgets f%u", serial);
	step(m, e, "fclose f%u d%u", serial, serial);
	arrive(m, c, !i);
}

/* Requests that libc's threads or the kernel carry out. */
void write_requests(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 3000);

	arrive(m, c, i);
	unwatch(m, e);
	c->moved = true;
	if (e->unread && chance(m, 60)) {
		if (chance(m, 30))
			step(m, e, "kernelpoll %s events=in|rdhup", e->name);
		step(m, e, "aioread %s %u%s", e->name, size,
		     chance(m, 50) ? " list" : "");
		taken(e, size);
		return;
	}
	if (!can_send(c, i) || peer->unread + size > IN_FLIGHT_MAX ||
	    peer->pieces > 90)
		return;
	step(m, e, "aiowrite %s %u %u%s", e->name, size, next_pattern(m),
	     chance(m, 50) ? " list" : "");
	sent(peer, size);
}

/* What one connection brings goes out on another one, by a pipe. */
void write_pump(struct model *m, struct connection *c, int i)
{
	struct connection *d = &m->connections[pick(m, CONNECTIONS)];
	struct end *e = &c->ends[i], *to;
	int j = (int)pick(m, 2);
	unsigned size = 1 + pick(m, 6000);

	if (d == c || !d->used)
		return;
	to = &d->ends[j];
	if (to->actor != e->actor || to->task || e->task || !e->unread ||
	    e->pieces > 15 || !can_send(d, j) || d->ends[!j].pieces > 60)
		return;
	size = size < e->unread ? size : e->unread;
	if (d->ends[!j].unread + size > IN_FLIGHT_MAX)
		return;
	arrive(m, c, i);
	step(m, e, "pump %s %s %u%s", e->name, to->name, size,
	     chance(m, 50) ? " nonblock" : "");
	taken(e, size);
	sent(&d->ends[!j], size);
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
	close_end(m, peer);
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
	memset(c, 0, sizeof(*c));
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
	memset(c, 0, sizeof(*c));
}
