/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * model_begin: steps of the seeds from GENERATE_ALL on: connections that are
 * watched, used, shared and ended while they begin, mostly of clients that do
 * not wait in connect(), at a server that has served them before.
 */
#include "model.h"

#include <string.h>

#define WATCHES 2
#define CHILD   3 /* a task that no other step has */

enum sleep {
	SLEEP_NONE,
	SLEEP_READY, /* polls, or waits in an instance */
	SLEEP_RECV   /* takes all that comes first */
};

struct watch {
	char name[12]; /* of the instance */
	char of[12];   /* the registered name; empty: none */
};

struct beginning {
	struct model *m;
	struct connection d;
	const char *listens, *connects;
	int listener;
	struct watch watches[WATCHES];
	enum sleep sleep; /* of the client's task 1 */
	bool accepted, listener_closed;
};

static const char *const watched[] = {
    "in|out|rdhup|et", "in|out|et",         "out",
    "in|out",          "in|rdhup",          "out|oneshot",
    "in|rdhup|et",     "in|out|et|oneshot", "in|out|exclusive"};

static struct end *client(struct beginning *b)
{
	return &b->d.ends[0];
}

static struct end *server(struct beginning *b)
{
	return &b->d.ends[1];
}

/* ---- before connect() ---- */

/* The next client knocks, if both have met twice (smc_r/knock.h). */
static void serve_one(struct beginning *b)
{
	struct model *m = b->m;
	unsigned serial = ++m->serial;
	struct end c = {.actor = client(b)->actor};
	const struct end *s = server(b);

	step(m, &c, "socket p%u %s", serial,
	     strchr(b->connects, ':') ? "inet6" : "inet");
	step(m, &c, "connect p%u %s @l%d", serial, b->connects, b->listener);
	step(m, s, "await l%d events=in", b->listener);
	step(m, s, "accept l%d q%u", b->listener, serial);
	step(m, &c, "send p%u 10 1", serial);
	step(m, s, "await q%u bytes=10", serial);
	step(m, s, "recv q%u 10", serial);
	step(m, &c, "close p%u", serial);
	step(m, s, "await q%u events=rdhup", serial);
	step(m, s, "recv q%u 10", serial);
	step(m, s, "close q%u", serial);
}

static void watch_add(struct beginning *b, struct watch *w, const char *name)
{
	struct model *m = b->m;

	snprintf(w->of, sizeof(w->of), "%s", name);
	step(m, client(b), "epctl %s add %s events=%s", w->name, name,
	     PICK(m, watched));
}

static void watch_new(struct beginning *b, struct watch *w)
{
	snprintf(w->name, sizeof(w->name), "w%u", ++b->m->serial);
	step(b->m, client(b), "epnew %s", w->name);
}

static void watch_ask(struct beginning *b, const struct watch *w, int ms)
{
	static const char *const via[] = {"epoll_wait", "epoll_pwait",
					  "epoll_pwait2", "syscall"};

	step(b->m, client(b), "epwait %s %d via=%s", w->name, ms,
	     PICK(b->m, via));
}

/* A closed name leaves the instances by itself only with its last duplicate. */
static void watch_leave(struct beginning *b)
{
	for (int k = 0; k < WATCHES; k++) {
		struct watch *w = &b->watches[k];

		if (w->of[0])
			step(b->m, client(b), "epctl %s del %s", w->name,
			     w->of);
		w->of[0] = 0;
	}
}

static void watches_close(struct beginning *b)
{
	for (int k = 0; k < WATCHES; k++)
		if (b->watches[k].name[0])
			step(b->m, client(b), "close %s", b->watches[k].name);
}

static void make_client(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	e->nonblock = chance(m, 85);
	step(m, e, "socket %s %s%s", e->name,
	     strchr(b->connects, ':') ? "inet6" : "inet",
	     e->nonblock ? " nonblock" : "");
	if (chance(m, 10))
		step(m, e, "set %s nodelay 1", e->name);
	for (int k = 0; k < WATCHES; k++) {
		if (chance(m, 55))
			continue;
		watch_new(b, &b->watches[k]);
		if (chance(m, 60))
			watch_add(b, &b->watches[k], e->name);
		if (chance(m, 30))
			watch_ask(b, &b->watches[k], 0);
	}
	if (chance(m, 10))
		step(m, e, "poll 0 %s:in|out|rdhup", e->name);
}

/* ---- what the client does ---- */

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
			step(m, e, "connect %s %s @l%d", e->name, b->connects,
			     b->listener);
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

static void watch(struct beginning *b)
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

/* Both names are in one instance for a moment. */
static void rename_end(struct beginning *b)
{
	struct model *m = b->m;
	struct watch *w = &b->watches[pick(m, WATCHES)];
	struct end *e = client(b);

	if (chance(m, 50) && w->name[0]) {
		unsigned serial = ++m->serial;

		arrive(m, &b->d, 0);
		step(m, e, "dup %s d%u", e->name, serial);
		step(m, e, "epctl %s add d%u events=%s", w->name, serial,
		     PICK(m, watched));
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

/* The server has just done what ends it: it sent so many bytes, or its end. */
static void wake_up(struct beginning *b, unsigned bytes)
{
	struct model *m = b->m;

	if (!b->sleep)
		return;
	line(m, "%c1=", client(b)->actor);
	if (b->sleep == SLEEP_RECV)
		taken(client(b), bytes);
	b->sleep = SLEEP_NONE;
}

static void client_acts(struct beginning *b)
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
		/* Who sleeps in an instance may take what it is asked for. */
		if (!b->sleep)
			watch(b);
		break;
	case 7:
		if (!b->sleep)
			rename_end(b);
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
			wake_up(b, 0);
		}
		break;
	default:
		writes[pick(m, sizeof(writes) / sizeof(*writes))](m, &b->d, 0);
	}
}

/* ---- what the server does ---- */

static void accept_one(struct beginning *b, bool forks)
{
	struct model *m = b->m;
	struct end *e = server(b);
	unsigned flags = pick(m, 4);

	step(m, e, "await l%d events=in", b->listener);
	if (chance(m, 10) && forks) {
		step(m, e, "fork %d keep=l%d", CHILD, b->listener);
		e->task = CHILD;
	}
	step(m, e, "accept l%d %s%s", b->listener, e->name,
	     flags == 0   ? ""
	     : flags == 1 ? " via=accept4 cloexec"
			  : " via=accept4 nonblock");
	e->nonblock = flags > 1;
	b->accepted = true;
}

/* Only of one that is still to be accepted. */
static void server_delays(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = server(b);

	switch (pick(m, 4)) {
	case 0:
		step(m, e, "poll 0 l%d:in", b->listener);
		break;
	case 1:
		step(m, e, "poll %u u0:pri", 1 + pick(m, 120));
		break;
	case 2:
		m->serial++;
		step(m, e, "epnew v%u", m->serial);
		step(m, e, "epctl v%u add l%d events=in", m->serial,
		     b->listener);
		step(m, e, "epwait v%u 9000", m->serial);
		step(m, e, "close v%u", m->serial);
		break;
	default:
		break;
	}
}

static void server_acts(struct beginning *b)
{
	static void (*const writes[])(struct model *, struct connection *,
				      int) = {write_recv, write_recv,
					      write_flags, write_nonblock,
					      write_low_water};
	struct model *m = b->m;
	struct end *e = server(b);
	unsigned size = 1 + pick(m, 3000);

	if (!b->accepted) {
		server_delays(b);
		return;
	}
	if (chance(m, 45) && can_send(&b->d, 1) &&
	    client(b)->unread + size < 20000) {
		step(m, e, "send %s %u %u", e->name, size, next_pattern(m));
		sent(client(b), size);
		wake_up(b, size);
	} else if (chance(m, 10) && !e->fin_sent) {
		finish_sending(m, e);
		wake_up(b, 0);
	} else if (chance(m, 10)) {
		arrive(m, &b->d, 1);
		step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	} else if (!b->sleep) {
		writes[pick(m, sizeof(writes) / sizeof(*writes))](m, &b->d, 1);
	}
}

/* ---- ends ---- */

static void look_once_more(struct beginning *b)
{
	struct model *m = b->m;

	for (int k = 0; k < WATCHES; k++)
		if (b->watches[k].of[0]) {
			watch_ask(b, &b->watches[k], 0);
			watch_ask(b, &b->watches[k], 0);
		}
	if (chance(m, 50))
		step(m, client(b), "poll 0 %s:in|out|rdhup", client(b)->name);
}

/* The listener goes with the connection in its queue. */
static void end_in_queue(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	step(m, server(b), "await l%d events=in", b->listener);
	step(m, server(b), "close l%d", b->listener);
	b->listener_closed = true;
	/* Who sleeps in recv() takes the error. */
	if (b->sleep)
		line(m, "%c1=", e->actor);
	step(m, e, "await %s events=%s", e->name,
	     b->sleep == SLEEP_RECV ? "hup" : "err|hup");
	b->sleep = SLEEP_NONE;
	look_once_more(b);
	if (chance(m, 40))
		step(m, e, "get %s error", e->name);
	if (chance(m, 40))
		step(m, e, "send %s 10 1", e->name);
	step(m, e, "recv %s 10", e->name);
	step(m, e, "recv %s 10", e->name);
	step(m, e, "send %s 10 1", e->name);
	step(m, e, "poll 0 %s:in|out|rdhup", e->name);
	step(m, e, "names %s", e->name);
}

/* The client goes while it is in the queue. */
static void end_unaccepted(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b), *s = server(b);
	bool reset = chance(m, 30);

	if (b->sleep) {
		step(m, e, "shutdown %s rdwr", e->name);
		line(m, "%c1=", e->actor);
		b->sleep = SLEEP_NONE;
	}
	step(m, s, "await l%d events=in", b->listener);
	if (reset)
		step(m, e, "set %s linger 1 0", e->name);
	watch_leave(b);
	step(m, e, "close %s", e->name);
	if (chance(m, 30))
		step(m, s, "poll %u u0:pri", 1 + pick(m, 30));
	accept_one(b, false);
	if (reset) {
		step(m, s, "await %s events=err|hup", s->name);
	} else {
		e->fin_sent = true;
		arrive(m, &b->d, 1);
	}
	step(m, s, "poll 0 %s:in|out|rdhup", s->name);
	step(m, s, "recvend %s", s->name);
	step(m, s, "send %s 10 1", s->name);
	step(m, s, "close %s", s->name);
}

static void end_in_order(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	if (b->sleep && can_send(&b->d, 1)) {
		step(m, server(b), "send %s 7 %u", server(b)->name,
		     next_pattern(m));
		sent(e, 7);
		wake_up(b, 7);
	}
	arrive(m, &b->d, 0);
	look_once_more(b);
	watch_leave(b);
	write_finish(m, &b->d, (int)pick(m, 2));
}

static void place_choose(struct beginning *b)
{
	static const char *const places[][2] = {{"127.0.0.1", "127.0.0.1"},
						{"0.0.0.0", "127.0.0.1"},
						{"127.0.0.1", "127.0.0.1"},
						{"::1", "::1"},
						{"::", "::ffff:127.0.0.1"}};
	unsigned place = pick(b->m, 5);

	b->listens = places[place][0];
	b->connects = places[place][1];
	b->d.address = b->listens;
}

static void begin(struct beginning *b, struct model *m, char actor,
		  const char *backlog)
{
	*b = (struct beginning){.m = m, .d = {.used = true}};
	b->listener = ++m->listener;
	place_choose(b);
	m->serial++;
	client(b)->actor = actor;
	server(b)->actor = (char)('A' + 'B' - actor);
	snprintf(client(b)->name, sizeof(client(b)->name), "y%u", m->serial);
	snprintf(server(b)->name, sizeof(server(b)->name), "z%u", m->serial);
	step(m, server(b), "listen l%d %s%s", b->listener, b->listens, backlog);
	if (chance(m, 80)) {
		serve_one(b);
		serve_one(b);
	}
}

void write_beginning(struct model *m, struct connection *c, int i)
{
	struct beginning b;
	unsigned acts = pick(m, 9), when = pick(m, 7);
	unsigned how = pick(m, 10);

	if (c->ends[0].actor == c->ends[1].actor)
		return;
	begin(&b, m, c->ends[i].actor, "");
	make_client(&b);
	step(m, client(&b), "connect %s %s @l%d", client(&b)->name, b.connects,
	     b.listener);
	for (unsigned k = 0; k < acts; k++) {
		if (k == when && how > 1)
			accept_one(&b, true);
		if (chance(m, 65))
			client_acts(&b);
		else
			server_acts(&b);
	}
	if (how == 0 && !client(&b)->fin_sent && !client(&b)->read_shut) {
		end_in_queue(&b);
	} else if (how == 1) {
		end_unaccepted(&b);
	} else {
		if (!b.accepted)
			accept_one(&b, true);
		end_in_order(&b);
	}
	watches_close(&b);
	if (!b.listener_closed)
		line(m, "%c0 close l%d", server(&b)->actor, b.listener);
}

/* ---- connections that are not there yet ---- */

/* TCP says no SYN-ACK while the listener's queue is full. */
static void pend(struct beginning *b)
{
	static const char *const events[] = {"in|out|rdhup", "out", "in"};
	struct model *m = b->m;
	struct end *e = client(b), c = *e;

	switch (pick(m, 10)) {
	case 0:
		step(m, e, "get %s error", e->name);
		break;
	case 1:
		step(m, e, "names %s", e->name);
		break;
	case 2:
		step(m, e, "state %s", e->name);
		break;
	case 3:
		if (e->nonblock)
			step(m, e, "connect %s %s @l%d", e->name, b->connects,
			     b->listener);
		break;
	case 4:
		step(m, e, "recv %s 10 flags=dontwait", e->name);
		break;
	case 5:
		step(m, e, "send %s 10 1 flags=dontwait", e->name);
		break;
	case 6:
		step(m, e, "poll 0 %s:%s", e->name, PICK(m, events));
		break;
	case 7:
		rename_end(b);
		break;
	case 8:
		c.task = CHILD;
		step(m, e, "fork %d keep=%s via=fork", CHILD, e->name);
		step(m, &c, "poll 0 %s:in|out|rdhup", e->name);
		step(m, &c, "exit 0");
		step(m, e, "reap");
		break;
	default:
		watch(b);
	}
}

/* A signal ends the call, and the connection goes on to begin. */
static void connect_interrupted(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	step(m, e, "handler USR1 norestart");
	line(m, "%c1& connect %s %s @l%d", e->actor, e->name, b->connects,
	     b->listener);
	line(m, "blocked %c1", e->actor);
	line(m, "interrupt %c1 USR1", e->actor);
	step(m, e, "handled");
}

/* The one ahead of it is accepted, and the kernel asks again. */
static void end_pending(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b), *s = server(b);
	bool closes = chance(m, 25);

	if (closes) {
		step(m, s, "close l%d", b->listener);
		b->listener_closed = true;
	} else {
		step(m, s, "accept l%d o%d", b->listener, b->listener);
	}
	if (chance(m, 40))
		step(m, e, "select 9000 %s:out", e->name);
	else
		step(m, e, "poll 9000 %s:out", e->name);
	look_once_more(b);
	if (chance(m, 70))
		step(m, e, "get %s error", e->name);
	watch_leave(b);
	if (closes) {
		step(m, e, "send %s 10 1", e->name);
		step(m, e, "close %s", e->name);
		return;
	}
	if (chance(m, 50))
		write_send(m, &b->d, 0);
	accept_one(b, true);
	end_in_order(b);
	line(m, "%c0 close o%d", s->actor, b->listener);
}

void write_full_queue(struct model *m, struct connection *c, int i)
{
	struct beginning b;
	struct end first = {.actor = c->ends[i].actor};

	if (c->ends[0].actor == c->ends[1].actor)
		return;
	begin(&b, m, c->ends[i].actor, " backlog=0");
	snprintf(first.name, sizeof(first.name), "x%u", ++m->serial);
	step(m, &first, "socket %s %s", first.name,
	     strchr(b.connects, ':') ? "inet6" : "inet");
	step(m, &first, "connect %s %s @l%d", first.name, b.connects,
	     b.listener);
	make_client(&b);
	if (client(&b)->nonblock)
		step(m, client(&b), "connect %s %s @l%d", client(&b)->name,
		     b.connects, b.listener);
	else
		connect_interrupted(&b);
	for (unsigned acts = pick(m, 6); acts; acts--)
		pend(&b);
	if (chance(m, 15)) {
		watch_leave(&b);
		if (chance(m, 50))
			step(m, client(&b), "shutdown %s rdwr",
			     client(&b)->name);
		step(m, client(&b), "close %s", client(&b)->name);
	} else {
		end_pending(&b);
	}
	watches_close(&b);
	step(m, &first, "close %s", first.name);
	if (!b.listener_closed)
		line(m, "%c0 close l%d", server(&b)->actor, b.listener);
}
