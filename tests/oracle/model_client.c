/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_client: what a client does with a connection that begins. */
#include "model_beginning.h"

static void ask(struct beginning *b)
{
	static const char *const events[] = {"in",           "out",   "in|out",
					     "in|out|rdhup", "rdhup", "-"};
	static const char *const sets[] = {"in", "out", "in|out|pri"};
	struct model *m = b->m;
	struct end *e = client(b);
	bool quiet = is_quiet(&b->d, 0);

	arrive(m, &b->d, 0);
	switch (pick(m, 14)) {
	case 0:
		step(m, e, "get %s error", e->name);
		break;
	case 1:
		if (!e->fin_sent && !server(b)->fin_sent)
			step(m, e, "names %s", e->name);
		break;
	case 2:
		if (!e->fin_sent && !server(b)->fin_sent)
			step(m, e, "state %s", e->name);
		break;
	case 3:
		step(m, e, "fionread %s", e->name);
		break;
	case 4:
		step(m, e, "outq %s", e->name);
		break;
	case 5:
		if (!e->fin_sent && !server(b)->fin_sent)
			beginning_connect(b);
		break;
	case 6:
		step(m, e, "recv %s 10 flags=dontwait%s", e->name,
		     chance(m, 50) || !quiet ? "|peek" : "");
		break;
	case 7:
		step(m, e, "poll 0 %s:%s", e->name, PICK(m, events));
		break;
	case 8:
		step(m, e, "select 0 %s:%s", e->name, PICK(m, sets));
		break;
	case 9:
		step(m, e, "poll %s %s:%s", quiet ? "20" : "0", e->name,
		     quiet ? "in" : "in|rdhup");
		break;
	case 10:
		step(m, e, "poll 9000 %s:out", e->name);
		break;
	case 11:
		step(m, e, "select 9000 %s:out", e->name);
		break;
	case 12:
		step(m, e, "flags %s", e->name);
		break;
	default:
		step(m, e, "identity %s", e->name);
	}
}

void client_watches(struct beginning *b)
{
	struct model *m = b->m;
	struct watch *w = &b->watches[pick(m, WATCHES)];
	struct end *e = client(b);

	arrive(m, &b->d, 0);
	if (!w->name[0])
		watch_new(b, w);
	if (!w->of[0])
		watch_add(b, w, e->name);
	else if (chance(m, 25))
		step(m, e, "epctl %s mod %s events=%s", w->name, w->of,
		     "in|out|rdhup|oneshot");
	else if (chance(m, 15))
		watch_leave(b);
	for (unsigned rounds = pick(m, 3); rounds; rounds--)
		watch_ask(b, w, chance(m, 80) ? 0 : 5);
}

void client_renames(struct beginning *b)
{
	struct model *m = b->m;
	struct watch *w = &b->watches[pick(m, WATCHES)];
	struct end *e = client(b);

	if (chance(m, 50) && w->name[0]) {
		unsigned serial = ++m->serial;

		arrive(m, &b->d, 0);
		step(m, e, "dup %s d%u", e->name, serial);
		step(m, e, "epctl %s add d%u events=%s", w->name, serial,
		     watch_events(m));
		watch_ask(b, w, 0);
		step(m, e, "epctl %s del d%u", w->name, serial);
		step(m, e, "close d%u", serial);
		return;
	}
	watch_leave(b);
	write_dup(m, &b->d, 0);
}

/* A child has the same socket for a while, and perhaps another image. */
static void share(struct beginning *b)
{
	static const char *const how[] = {"via=fork",
					  "via=fork",
					  "via=raw",
					  "via=clone",
					  "exec=same via=fork",
					  "exec=bare via=fork",
					  "exec=static via=fork"};
	struct model *m = b->m;
	struct end *e = client(b), c = *e;

	c.task = CHILD;
	arrive(m, &b->d, 0);
	/* What lies in a ring is not to be had without the library. */
	if (e->unread && b->d.moved)
		step(m, e, "recv %s %u", e->name, e->unread);
	if (b->d.moved)
		taken(e, e->unread);
	b->d.moved = true;
	step(m, e, "fork %d keep=%s %s", CHILD, e->name, PICK(m, how));
	if (chance(m, 40))
		step(m, &c, "poll 0 %s:in|out|rdhup", e->name);
	if (chance(m, 60) && can_send(&b->d, 0) && server(b)->unread < 20000) {
		step(m, &c, "send %s 30 %u", e->name, next_pattern(m));
		sent(server(b), 30);
	}
	if (chance(m, 30) && can_send(&b->d, 0) && server(b)->unread < 20000)
		write_send(m, &b->d, 0);
	if (chance(m, 30))
		step(m, &c, "close %s", e->name);
	step(m, &c, "exit 0");
	step(m, e, "reap");
}

/* A thread waits for what the server will do. */
static void fall_asleep(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	if (!is_quiet(&b->d, 0) || b->sleep)
		return;
	watch_leave(b);
	switch (pick(m, 4)) {
	case 0:
		line(m, "%c1& poll 9000 %s:in|rdhup", e->actor, e->name);
		b->sleep = SLEEP_READY;
		break;
	case 1:
		line(m, "%c1& select 9000 %s:in", e->actor, e->name);
		b->sleep = SLEEP_READY;
		break;
	case 2:
		set_blocking(m, e);
		line(m, "%c1& recv %s 5000", e->actor, e->name);
		b->sleep = SLEEP_RECV;
		break;
	default:
		if (!b->watches[0].name[0])
			watch_new(b, &b->watches[0]);
		step(m, e, "epctl %s add %s events=in|rdhup%s",
		     b->watches[0].name, e->name, chance(m, 50) ? "|et" : "");
		snprintf(b->watches[0].of, sizeof(b->watches[0].of), "%s",
			 e->name);
		line(m, "%c1& epwait %s 9000", e->actor, b->watches[0].name);
		b->sleep = SLEEP_READY;
	}
	if (chance(m, 70))
		line(m, "blocked %c1", e->actor);
}

void client_wakes(struct beginning *b, unsigned bytes)
{
	struct model *m = b->m;

	if (!b->sleep)
		return;
	line(m, "%c1=", client(b)->actor);
	if (b->sleep == SLEEP_RECV)
		taken(client(b), bytes);
	b->sleep = SLEEP_NONE;
}

void client_acts(struct beginning *b)
{
	static void (*const writes[])(struct model *, struct connection *,
				      int) = {
	    write_send, write_send, write_flags,   write_splice,
	    write_many, write_bad,  write_nonblock};
	struct model *m = b->m;
	struct end *e = client(b);

	/* A sleeper would take what others look at. */
	if (b->sleep == SLEEP_RECV) {
		write_send(m, &b->d, 0);
		return;
	}
	switch (pick(m, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		ask(b);
		break;
	case 4:
	case 5:
	case 6:
		/* A thread that sleeps in an instance may take what it is asked
		 * for. */
		if (!b->sleep)
			client_watches(b);
		break;
	case 7:
		if (!b->sleep)
			client_renames(b);
		break;
	case 8:
		share(b);
		break;
	case 9:
		fall_asleep(b);
		break;
	case 10:
		if (!e->fin_sent && chance(m, 50))
			finish_sending(m, e);
		else if (!e->read_shut && chance(m, 20)) {
			step(m, e, "shutdown %s rd", e->name);
			e->read_shut = true;
			/* That ends a sleep, too. */
			client_wakes(b, 0);
		}
		break;
	default:
		writes[pick(m, sizeof(writes) / sizeof(*writes))](m, &b->d, 0);
	}
}
