/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_beginning: what comes before connect(), and instances that look. */
#include "model_beginning.h"

const char *watch_events(struct model *m)
{
	static const char *const watched[] = {
	    "in|out|rdhup|et", "in|out|et",         "out",
	    "in|out",          "in|rdhup",          "out|oneshot",
	    "in|rdhup|et",     "in|out|et|oneshot", "in|out|exclusive"};

	return PICK(m, watched);
}

/* The next client knocks, if both have met twice (smc_r/handshake/knock.h). */
static void serve_one(struct beginning *b)
{
	struct model *m = b->m;
	unsigned serial = ++m->serial;
	struct end c = {.actor = client(b)->actor};
	const struct end *s = server(b);

	step(m, &c, "socket p%u %s", serial, family(b->connects));
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

void watch_add(struct beginning *b, struct watch *w, const char *name)
{
	struct model *m = b->m;

	snprintf(w->of, sizeof(w->of), "%s", name);
	step(m, client(b), "epctl %s add %s events=%s", w->name, name,
	     watch_events(m));
}

void watch_new(struct beginning *b, struct watch *w)
{
	snprintf(w->name, sizeof(w->name), "w%u", ++b->m->serial);
	step(b->m, client(b), "epnew %s", w->name);
}

void watch_ask(struct beginning *b, const struct watch *w, int ms)
{
	static const char *const via[] = {"epoll_wait", "epoll_pwait",
					  "epoll_pwait2", "syscall"};

	step(b->m, client(b), "epwait %s %d via=%s", w->name, ms,
	     PICK(b->m, via));
}

void watch_leave(struct beginning *b)
{
	for (int k = 0; k < WATCHES; k++) {
		struct watch *w = &b->watches[k];

		if (w->of[0])
			step(b->m, client(b), "epctl %s del %s", w->name,
			     w->of);
		w->of[0] = 0;
	}
}

void watches_close(struct beginning *b)
{
	for (int k = 0; k < WATCHES; k++)
		if (b->watches[k].name[0])
			step(b->m, client(b), "close %s", b->watches[k].name);
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

void beginning_start(struct beginning *b, struct model *m, char actor,
		     const char *backlog)
{
	*b = (struct beginning){.m = m, .d = {.used = true}};
	b->listener = ++m->listener;
	place_choose(b);
	m->serial++;
	end_make(m, client(b), actor, 'y');
	end_make(m, server(b), other_actor(actor), 'z');
	step(m, server(b), "listen l%d %s%s", b->listener, b->listens, backlog);
	if (chance(m, 80)) {
		serve_one(b);
		serve_one(b);
	}
}

void beginning_socket(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	e->nonblock = chance(m, 85);
	step(m, e, "socket %s %s%s", e->name, family(b->connects),
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

void beginning_connect(struct beginning *b)
{
	step(b->m, client(b), "connect %s %s @l%d", client(b)->name,
	     b->connects, b->listener);
}
