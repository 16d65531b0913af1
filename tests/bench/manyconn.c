/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * manyconn: requests over many connections between two processes.
 *
 * -n connections each have one request under way all the time; -k further
 * ones are open and say nothing. Both ends use one level-triggered epoll.
 *
 * With -i it says "ready", and measures a turn for each line of its input until
 * that ends: so two of it can take turns.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/crowd.h"

static uint64_t took_ns;

static void serve(struct trial *t)
{
	struct usage before;
	struct crowd c;

	crowd_accept(&c, t, t->busy + t->idle);
	usage_read(&before);
	t->shared->server.calls = crowd_echo(&c, t, 0);
	t->shared->server.usage = usage_since(&before);
	crowd_close(&c);
}

/* Warms up first. Returns the requests, and adds the time they took. */
static uint64_t measure(struct crowd *c, const struct trial *t, uint64_t length)
{
	uint64_t calls;
	uint64_t ns = 0;

	crowd_ask(c, t, t->busy, length / 5, &ns);
	calls = crowd_ask(c, t, t->busy, length, &ns);
	took_ns += ns;
	return calls;
}

static uint64_t take_turns(struct crowd *c, const struct trial *t)
{
	uint64_t calls = 0;
	char line[8];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		calls += measure(c, t, t->turn_ms * 1000000ull);
		puts("done");
		fflush(stdout);
	}
	return calls;
}

static void ask(struct trial *t)
{
	struct finding *f = &t->shared->client;
	struct usage before;
	struct crowd c;

	crowd_connect(&c, t, t->busy + t->idle);
	usage_read(&before);
	f->calls =
	    t->turn_ms ? take_turns(&c, t) : measure(&c, t, trial_length_ns(t));
	f->usage = usage_since(&before);
	crowd_close(&c);
}

int main(int argc, char **argv)
{
	const struct finding *f;
	struct trial t;

	trial_options(&t, argc, argv, "TrapuCStmdnki",
		      "requests over many connections");
	if (!t.busy || t.size > 65536) {
		fprintf(stderr, "manyconn: -n from 1, -m up to 65536\n");
		return 2;
	}
	trial_run(&t, serve, ask);
	if (t.role == ROLE_SERVER)
		return 0;
	f = &t.shared->client;
	printf("requests_s=%.0f requests=%llu client_user_ns=%.0f "
	       "client_system_ns=%.0f server_user_ns=%.0f "
	       "server_system_ns=%.0f\n",
	       (double)f->calls * 1e9 / (double)(took_ns ? took_ns : 1),
	       (unsigned long long)f->calls,
	       (double)f->usage.user_ns / (double)(f->calls + 1),
	       (double)f->usage.system_ns / (double)(f->calls + 1),
	       (double)t.shared->server.usage.user_ns /
		   (double)(t.shared->server.calls + 1),
	       (double)t.shared->server.usage.system_ns /
		   (double)(t.shared->server.calls + 1));
	return 0;
}
