/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* model_leave: how a connection that begins, or has just begun, ends. */
#include "model_beginning.h"

void look_once_more(struct beginning *b)
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
void end_in_queue(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	step(m, server(b), "await l%d events=in", b->listener);
	step(m, server(b), "close l%d", b->listener);
	b->listener_closed = true;
	/* A thread that sleeps in recv() takes the error. */
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
void end_unaccepted(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b), *s = server(b);
	/* A second piece may wait for an acknowledgement (Nagle), and a reset
	 * takes that back. */
	bool reset = chance(m, 30) && s->pieces < 2;

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
	server_accepts(b, false);
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

void end_in_order(struct beginning *b)
{
	struct model *m = b->m;
	struct end *e = client(b);

	if (b->sleep && can_send(&b->d, 1)) {
		step(m, server(b), "send %s 7 %u", server(b)->name,
		     next_pattern(m));
		sent(e, 7);
		client_wakes(b, 7);
	}
	arrive(m, &b->d, 0);
	look_once_more(b);
	watch_leave(b);
	write_finish(m, &b->d, (int)pick(m, 2));
}
