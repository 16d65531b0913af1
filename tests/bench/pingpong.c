/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pingpong: round-trip time of a message between two processes.
 *
 * Two thirds of the time measure the mean, with the clock read once in
 * CLOCK_EVERY rounds; the rest measures each round trip by itself for the
 * percentiles, which therefore contain one reading of the clock (some 20 ns).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/line.h"

#define CLOCK_EVERY 16

static struct distribution times;
static double mean_ns;

static char *message(const struct trial *t)
{
	char *m = malloc(t->size);

	if (!m)
		measure_fail("cannot allocate the message");
	memset(m, 'm', t->size);
	return m;
}

static void serve(struct trial *t)
{
	struct line l;
	struct usage before;
	char *m = message(t);

	line_accept(&l, t);
	usage_read(&before);
	while (line_receive(&l, m, t->size)) {
		line_send(&l, m, t->size);
		t->shared->server.calls++;
	}
	t->shared->server.usage = usage_since(&before);
	line_close(&l);
	free(m);
}

static void round_trip(struct line *l, char *m, const struct trial *t)
{
	line_send(l, m, t->size);
	if (!line_receive(l, m, t->size))
		measure_fail("the server closed too early");
}

/* Round trips for `length` ns; returns their number, sets their mean. */
static uint64_t mean_of(struct line *l, char *m, const struct trial *t,
			uint64_t length)
{
	uint64_t begin = measure_now_ns();
	uint64_t count = 0;
	uint64_t now;
	int i;

	do {
		for (i = 0; i < CLOCK_EVERY; i++)
			round_trip(l, m, t);
		count += CLOCK_EVERY;
		now = measure_now_ns();
	} while (now - begin < length);
	mean_ns = (double)(now - begin) / (double)count;
	return count;
}

static uint64_t spread_of(struct line *l, char *m, const struct trial *t,
			  uint64_t length)
{
	uint64_t begin = measure_now_ns();
	uint64_t last = begin;
	uint64_t now;

	do {
		round_trip(l, m, t);
		now = measure_now_ns();
		distribution_add(&times, now - last);
		last = now;
	} while (now - begin < length);
	return times.count;
}

static void ask(struct trial *t)
{
	uint64_t length = trial_length_ns(t);
	struct usage before;
	struct line l;
	char *m = message(t);
	uint64_t count;

	line_connect(&l, t);
	usage_read(&before);
	count = mean_of(&l, m, t, length / 10); /* warms up */
	count += mean_of(&l, m, t, length * 6 / 10);
	count += spread_of(&l, m, t, length * 3 / 10);
	t->shared->client.calls = count;
	t->shared->client.usage = usage_since(&before);
	line_close(&l);
	free(m);
}

static void print_usage(const char *end, const struct finding *f)
{
	double n = f->calls ? (double)f->calls : 1;

	printf(" %s_user_ns=%.1f %s_system_ns=%.1f %s_switches=%.4f", end,
	       (double)f->usage.user_ns / n, end,
	       (double)f->usage.system_ns / n, end,
	       (double)(f->usage.voluntary + f->usage.involuntary) / n);
}

int main(int argc, char **argv)
{
	struct trial t;

	trial_options(&t, argc, argv, "TwrapuCStmdRPB",
		      "round-trip time of a message between two processes");
	trial_run(&t, serve, ask);
	if (t.role == ROLE_SERVER)
		return 0;
	printf("rtt_ns=%.1f p50_ns=%llu p99_ns=%llu p999_ns=%llu max_ns=%llu "
	       "rounds=%llu",
	       mean_ns, (unsigned long long)distribution_at(&times, 50),
	       (unsigned long long)distribution_at(&times, 99),
	       (unsigned long long)distribution_at(&times, 99.9),
	       (unsigned long long)times.longest_ns,
	       (unsigned long long)t.shared->client.calls);
	print_usage("client", &t.shared->client);
	print_usage("server", &t.shared->server);
	printf(" cpu_ns=%.1f\n", trial_cpu_ns(t.shared));
	return 0;
}
