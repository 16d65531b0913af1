/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_data: steps that move bytes by send and receive. */
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

/* Many buffers, some of them empty. */
void write_many(struct model *m, struct connection *c, int i)
{
	struct end *e = &c->ends[i], *peer = &c->ends[!i];
	unsigned count = 1 + pick(m, 1023), each = pick(m, 12), size = 0;

	if (e->unread && chance(m, 50)) {
		arrive(m, c, i);
		each = 1 + pick(m, 12);
		for (unsigned k = 0; k < count; k++)
			size += k % 3 == 1 ? 0 : each;
		step(m, e, "recvmany %s %u %u", e->name, count, each);
		taken(e, size);
		return;
	}
	for (unsigned k = 0; k < count; k++)
		size += k % 3 == 1 ? 0 : each;
	if (!can_send(c, i) || peer->unread + size > IN_FLIGHT_MAX ||
	    peer->pieces > 90)
		return;
	step(m, e, "sendmany %s %u %u %u", e->name, count, each,
	     next_pattern(m));
	sent(peer, size);
}

/* Buffers where there are none, with nothing good ahead of them: how much of
 * that is moved is a matter of packets. */
void write_bad(struct model *m, struct connection *c, int i)
{
	static const char *const sends[] = {"send", "write", "writev",
					    "sendmsg"};
	static const char *const receives[] = {"recv", "read", "readv",
					       "recvmsg"};
	struct end *e = &c->ends[i];

	if (chance(m, 50)) {
		if (can_send(c, i) || e->fin_sent)
			step(m, e, "sendbad %s 0 %u 1 via=%s", e->name,
			     1 + pick(m, 100), PICK(m, sends));
		return;
	}
	arrive(m, c, i);
	if (is_quiet(c, i))
		step(m, e, "recvbad %s 0 10 via=recvmsg flags=dontwait",
		     e->name);
	else
		step(m, e, "recvbad %s 0 %u via=%s", e->name, 1 + pick(m, 100),
		     PICK(m, receives));
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
