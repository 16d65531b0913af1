/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_data: steps that move bytes or ask about them.
 */
#include "model.h"

static unsigned pick_size(struct model *m)
{
	static const unsigned sizes[] = {1,    1,    2,    7,     64,   100,
					 511,  512,  1000, 1460,  4095, 4096,
					 5000, 9000, 9001, 16384, 20000};

	if (chance(m, 3))
		return 0;
	return sizes[pick(m, sizeof(sizes) / sizeof(*sizes))];
}

void write_send(struct model *m, struct connection *c, int i)
{
	static const char *const with_flags[] = {"send", "sendto", "sendmsg",
						 "sendmmsg", "syscall"};
	static const char *const without[] = {"write", "writev", "pwritev2"};
	static const char *const flags[] = {
	    "-", "-", "nosignal", "dontwait", "nosignal|dontwait", "eor"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned size = pick_size(m), pattern = next_pattern(m);

	if (peer->unread + size > IN_FLIGHT_MAX || peer->pieces > 90)
		return;
	if (!can_send(c, i) && !(e->fin_sent && chance(m, 25)))
		return;
	if (chance(m, 50))
		step(m, e, "send %s %u %u via=%s", e->name, size, pattern,
		     PICK(m, without));
	else if (chance(m, 4))
		step(m, e, "send %s %u %u flags=more", e->name, size, pattern);
	else
		step(m, e, "send %s %u %u via=%s flags=%s", e->name, size,
		     pattern, PICK(m, with_flags), PICK(m, flags));
	if (!e->fin_sent)
		sent(peer, size);
}

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

/* Flags for a receive which cannot wait; what it takes is counted. */
static void recv_now(struct model *m, struct connection *c, int i)
{
	static const char *const via_flags[] = {"recv",     "recvmsg",
						"recvfrom", "syscall",
						"recv_chk", "recvfrom_chk"};
	static const char *const via_plain[] = {"read", "readv", "preadv2",
						"read_chk"};
	static const char *const flags[] = {"-",        "-",     "peek",
					    "dontwait", "trunc", "nosignal"};
	struct end *e = &c->ends[i];
	unsigned size = 1 + pick(m, e->unread + e->unread / 2 + 10);
	const char *flag = PICK(m, flags);

	if (chance(m, 3))
		size = 0;
	if (chance(m, 10)) {
		step(m, e, "recv %s %u via=recvmmsg flags=dontwait", e->name,
		     size);
	} else if (size <= e->unread && chance(m, 15)) {
		if (chance(m, 30))
			step(m, e, "recv %s %u flags=waitall|peek", e->name,
			     size);
		step(m, e, "recv %s %u flags=waitall", e->name, size);
	} else if (chance(m, 40)) {
		step(m, e, "recv %s %u via=%s", e->name, size,
		     PICK(m, via_plain));
	} else {
		step(m, e, "recv %s %u via=%s flags=%s", e->name, size,
		     PICK(m, via_flags), flag);
		if (flag[0] == 'p')
			size = 0;
	}
	taken(e, size);
}

void write_recv(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	arrive(m, c, i);
	if (!is_quiet(c, i))
		recv_now(m, c, i);
	else if (e->nonblock)
		step(m, e, "recv %s %u via=%s", e->name, 1 + pick(m, 5000),
		     chance(m, 50) ? "read" : "recvmsg");
	else
		step(m, e, "recv %s %u flags=dontwait%s", e->name,
		     1 + pick(m, 5000), chance(m, 30) ? "|peek" : "");
}

void write_transfer(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	bool alone = e->actor == peer->actor || e->task || peer->task;
	bool both = !alone && can_send(c, !i) && is_quiet(c, i);
	unsigned size = 50000 + pick(m, 1000000);
	int to = e->actor == peer->actor ? 2 : blocking_task(peer);

	if (!can_send(c, i) || peer->unread || peer->read_shut ||
	    (e->actor == peer->actor && (e->task || peer->task)))
		return;
	/* Whether a sender ever lacked room, and so has an edge, is timing. */
	unwatch(m, e);
	unwatch(m, peer);
	line(m, "%c%d& sendall %s %u %u chunk=%u", e->actor, blocking_task(e),
	     e->name, size, next_pattern(m), 1000 + pick(m, 100000));
	line(m, "%c%d& recvall %s %u chunk=%u", peer->actor, to, peer->name,
	     size, 1000 + pick(m, 100000));
	if (both) {
		line(m, "%c2& sendall %s %u %u chunk=%u", peer->actor,
		     peer->name, size / 2, next_pattern(m),
		     1000 + pick(m, 100000));
		line(m, "%c2& recvall %s %u chunk=%u", e->actor, e->name,
		     size / 2, 1000 + pick(m, 100000));
	}
	line(m, "%c%d=", e->actor, blocking_task(e));
	line(m, "%c%d=", peer->actor, to);
	if (both) {
		line(m, "%c2=", peer->actor);
		line(m, "%c2=", e->actor);
	}
}

void write_fill(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned pattern = next_pattern(m);

	if (!can_send(c, i) || peer->unread || peer->read_shut)
		return;
	step(m, e, "fill %s %u", e->name, pattern);
	step(m, e, "poll 0 %s:out", e->name);
	step(m, peer, "drain %s @filled %u", peer->name, pattern);
	step(m, e, "await %s events=out", e->name);
}

static void write_cork(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	if (!can_send(c, i) || peer->unread > IN_FLIGHT_MAX / 2 ||
	    peer->pieces > 60)
		return;
	step(m, e, "set %s cork 1", e->name);
	step(m, e, "send %s 100 %u", e->name, next_pattern(m));
	step(m, e, "send %s 200 %u", e->name, next_pattern(m));
	step(m, e, "set %s cork 0", e->name);
	sent(peer, 300);
}

void write_probe(struct model *m, struct connection *c, int i)
{
	static const char *const asked[] = {
	    "type",    "domain",    "protocol", "acceptconn",
	    "nodelay", "keepalive", "rcvlowat"};
	struct end *e = &c->ends[i], *peer = &c->ends[!i];

	arrive(m, c, i);
	switch (pick(m, 9)) {
	case 0:
		step(m, e, "fionread %s", e->name);
		break;
	case 1:
		step(m, e, "outq %s", e->name);
		break;
	case 2:
		step(m, e, "get %s error", e->name);
		break;
	case 3:
		if (!e->fin_sent && !peer->fin_sent)
			step(m, e, "names %s", e->name);
		break;
	case 4:
		if (!e->fin_sent && !peer->fin_sent)
			step(m, e, "state %s", e->name);
		break;
	case 5:
		step(m, e, "identity %s", e->name);
		break;
	case 6:
		step(m, e, "set %s %s %u", e->name,
		     chance(m, 50) ? "nodelay" : "keepalive", pick(m, 2));
		break;
	case 7:
		write_cork(m, c, i);
		break;
	default:
		step(m, e, "get %s %s", e->name, PICK(m, asked));
	}
}

void write_nonblock(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i];

	e->nonblock = !e->nonblock;
	step(m, e, "nonblock %s %d via=%s", e->name, e->nonblock,
	     chance(m, 50) ? "fcntl" : "ioctl");
	if (chance(m, 30))
		step(m, e, "flags %s", e->name);
}

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
