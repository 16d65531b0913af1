/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream: one way, as fast as it goes; timed where the bytes arrive.
 *
 * The client writes -m bytes a time, the server reads up to -b bytes a time.
 * The first tenth of the time does not count. With -d and a small -m this is
 * the rate of messages. With -g the reader sleeps before each one, and the
 * figure is what a message takes of both processors (cpu_ns).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/line.h"

/* The sender looks at the clock when it has written this much. */
#define CLOCK_BYTES (128 << 10)

/* A buffer whose pages are there before the clock runs. */
static char *buffer(size_t size)
{
	char *b = malloc(size);

	if (!b)
		measure_fail("cannot allocate a buffer");
	memset(b, 's', size);
	return b;
}

static void take(struct trial *t)
{
	struct finding *f = &t->shared->server;
	char *b = buffer(t->read_size);
	uint64_t begin;
	uint64_t first = 0;
	uint64_t total = 0;
	uint64_t since = 0; /* bytes after the warm-up */
	uint64_t next = CLOCK_BYTES;
	struct usage before;
	struct line l;
	size_t n;

	line_accept(&l, t);
	usage_read(&before);
	begin = measure_now_ns();
	while ((n = line_receive_some(&l, b, t->read_size)) > 0) {
		total += n;
		f->calls++;
		if (total < next)
			continue;
		next = total + CLOCK_BYTES;
		f->time_ns = measure_now_ns() - begin;
		f->bytes = total;
		if (!first && f->time_ns > trial_length_ns(t) / 10) {
			first = f->time_ns;
			since = total;
		}
	}
	f->usage = usage_since(&before);
	f->memory_bytes = total;
	f->time_ns -= first;
	f->bytes -= since;
	line_close(&l);
	free(b);
}

static void give(struct trial *t)
{
	struct finding *f = &t->shared->client;
	uint64_t batch = t->gap_us ? 1 : CLOCK_BYTES / t->size + 1;
	char *b = buffer(t->size);
	struct usage before;
	struct line l;
	uint64_t end;
	uint64_t i;

	line_connect(&l, t);
	usage_read(&before);
	end = measure_now_ns() + trial_length_ns(t);
	do {
		for (i = 0; i < batch; i++)
			line_send(&l, b, t->size);
		f->calls += batch;
		if (t->gap_us)
			usleep(t->gap_us);
	} while (measure_now_ns() < end);
	f->usage = usage_since(&before);
	f->bytes = f->calls * t->size;
	line_close(&l);
	free(b);
}

static void print_usage(const char *end, const struct usage *u, uint64_t bytes)
{
	double kib = bytes ? (double)bytes / 1024 : 1;
	unsigned long long switches = u->voluntary;

	switches += u->involuntary;

	printf(" %s_user_ns_kib=%.2f %s_system_ns_kib=%.2f %s_switches=%llu",
	       end, (double)u->user_ns / kib, end, (double)u->system_ns / kib,
	       end, switches);
}

int main(int argc, char **argv)
{
	const struct finding *f;
	struct trial t;
	double ns;

	trial_options(&t, argc, argv, "TwrapuCStmbdgRPB",
		      "bytes one way, as fast as it goes");
	trial_run(&t, take, give);
	if (t.role == ROLE_CLIENT)
		return 0;
	f = &t.shared->server;
	ns = f->time_ns ? (double)f->time_ns : 1;
	if (t.role == ROLE_BOTH && f->memory_bytes != t.shared->client.bytes) {
		fprintf(stderr, "stream: %llu bytes sent, %llu arrived\n",
			(unsigned long long)t.shared->client.bytes,
			(unsigned long long)f->memory_bytes);
		return 1;
	}
	printf(
	    "gb_s=%.4f messages_s=%.0f bytes=%llu reads=%llu",
	    (double)f->bytes / ns, (double)f->bytes * 1e9 / ns / (double)t.size,
	    (unsigned long long)f->memory_bytes, (unsigned long long)f->calls);
	print_usage("client", &t.shared->client.usage, t.shared->client.bytes);
	print_usage("server", &f->usage, f->memory_bytes);
	printf(" cpu_ns=%.1f\n", trial_cpu_ns(t.shared));
	return 0;
}
