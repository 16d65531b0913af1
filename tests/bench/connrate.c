/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connrate: connect, one request and its answer, close; one at a time.
 *
 * The client closes first, as most clients do. With -k, that many
 * connections are open all the while, so that a link group between the two
 * processes stays up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/line.h"

#define QUIT 'q'

static struct distribution times;
static uint64_t took_ns;

static void serve(struct trial *t)
{
	int *idle = calloc(t->idle + 1, sizeof(*idle));
	char *m = malloc(t->size);
	int listener = line_listen_fd(t);
	struct usage before;
	struct line l;
	unsigned i;

	if (!m || !idle)
		measure_fail("cannot allocate");
	trial_ready(t);
	for (i = 0; i < t->idle; i++)
		idle[i] = line_accept_fd(t, listener);
	usage_read(&before);
	do {
		char end;

		l = (struct line){.fd = line_accept_fd(t, listener),
				  .epoll_fd = -1};
		if (!line_receive(&l, m, t->size))
			measure_fail("the client closed too early");
		line_send(&l, m, t->size);
		/* The client closes first. */
		if (line_receive_some(&l, &end, 1))
			measure_fail("bytes that nobody sent");
		line_close(&l);
		t->shared->server.calls++;
	} while (m[0] != QUIT);
	t->shared->server.usage = usage_since(&before);
	for (i = 0; i < t->idle; i++)
		close(idle[i]);
	line_listen_end(t, listener);
	free(idle);
	free(m);
}

static void transact(const struct trial *t, char *m, char first)
{
	struct line l = {.fd = line_connect_fd(t), .epoll_fd = -1};

	m[0] = first;
	line_send(&l, m, t->size);
	if (!line_receive(&l, m, t->size))
		measure_fail("the server closed too early");
	line_close(&l);
}

static void ask(struct trial *t)
{
	uint64_t length = trial_length_ns(t);
	int *idle = calloc(t->idle + 1, sizeof(*idle));
	char *m = calloc(1, t->size);
	struct usage before;
	uint64_t begin;
	uint64_t last;
	uint64_t now;
	unsigned i;

	if (!m || !idle)
		measure_fail("cannot allocate");
	for (i = 0; i < t->idle; i++)
		idle[i] = line_connect_fd(t);
	begin = measure_now_ns();
	while (measure_now_ns() - begin < length / 10)
		transact(t, m, 'w');
	usage_read(&before);
	begin = last = measure_now_ns();
	do {
		transact(t, m, 'm');
		now = measure_now_ns();
		distribution_add(&times, now - last);
		last = now;
	} while (now - begin < length);
	took_ns = now - begin;
	t->shared->client.calls = times.count;
	t->shared->client.usage = usage_since(&before);
	transact(t, m, QUIT);
	for (i = 0; i < t->idle; i++)
		close(idle[i]);
	free(idle);
	free(m);
}

static void print_usage(const char *end, const struct finding *f)
{
	double n = f->calls ? (double)f->calls : 1;

	printf(" %s_user_ns=%.0f %s_system_ns=%.0f", end,
	       (double)f->usage.user_ns / n, end,
	       (double)f->usage.system_ns / n);
}

int main(int argc, char **argv)
{
	struct trial t;

	trial_options(&t, argc, argv, "TrapuCStmdk",
		      "connect, one request and its answer, close");
	trial_run(&t, serve, ask);
	if (t.role == ROLE_SERVER)
		return 0;
	printf("connections_s=%.1f p50_ns=%llu p99_ns=%llu max_ns=%llu "
	       "connections=%llu",
	       (double)times.count * 1e9 / (double)took_ns,
	       (unsigned long long)distribution_at(&times, 50),
	       (unsigned long long)distribution_at(&times, 99),
	       (unsigned long long)times.longest_ns,
	       (unsigned long long)times.count);
	print_usage("client", &t.shared->client);
	print_usage("server", &t.shared->server);
	putchar('\n');
	return 0;
}
