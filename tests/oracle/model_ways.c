/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_ways: steps that move bytes by other calls than send and receive. */
#include "model.h"

/* Files and pipes on the sending side, a pipe or stdio text. */
void write_splice(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = 1 + pick(m, 12000), pattern = next_pattern(m);

	if (c->ends[i].unread && c->ends[i].pieces <= 15 && chance(m, 50)) {
		arrive(m, c, i);
		size = 1 + pick(m, 6000);
		step(m, e, "unsplice %s %u%s", e->name, size,
		     chance(m, 50) ? " nonblock" : "");
		taken(e, size);
		return;
	}
	if (!can_send(c, i) || peer->unread + size > IN_FLIGHT_MAX ||
	    peer->pieces > 90)
		return;
	switch (pick(m, 4)) {
	case 0:
		step(m, e, "splice %s %u %u%s", e->name, size, pattern,
		     chance(m, 50) ? " nonblock" : "");
		break;
	case 1:
		step(m, e, "sendfile %s %u %u offset=%u", e->name, size,
		     pattern, pick(m, 100));
		break;
	case 2:
		step(m, e, "sendfile %s %u %u file=%u", e->name, size + 500,
		     pattern, size);
		break;
	default:
		step(m, e, "dprintf %s text%06u%s", e->name, pattern,
		     chance(m, 50) ? " checked" : "");
		size = 11;
	}
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
