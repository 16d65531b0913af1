/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* measure: see measure.h. */
#include "measure.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

uint64_t measure_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void measure_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		measure_fail("cannot bind to the core asked for");
}

static unsigned slot_of(uint64_t ns)
{
	unsigned shift;
	unsigned slot;

	if (ns < DISTRIBUTION_STEPS)
		return (unsigned)ns;
	shift = 63u - (unsigned)__builtin_clzll(ns) - 6;
	slot = (shift + 1) * DISTRIBUTION_STEPS +
	       (unsigned)((ns >> shift) - DISTRIBUTION_STEPS);
	return slot < DISTRIBUTION_SLOTS ? slot : DISTRIBUTION_SLOTS - 1;
}

/* The middle of a slot. */
static uint64_t time_of(unsigned slot)
{
	unsigned shift;
	uint64_t low;

	if (slot < 2 * DISTRIBUTION_STEPS)
		return slot;
	shift = slot / DISTRIBUTION_STEPS - 1;
	low = (uint64_t)(slot % DISTRIBUTION_STEPS + DISTRIBUTION_STEPS)
	      << shift;
	return low + ((uint64_t)1 << shift) / 2;
}

void distribution_add(struct distribution *d, uint64_t ns)
{
	d->count++;
	if (ns > d->longest_ns)
		d->longest_ns = ns;
	d->slot[slot_of(ns)]++;
}

uint64_t distribution_at(const struct distribution *d, double percent)
{
	uint64_t wanted = (uint64_t)((double)d->count * percent / 100.0);
	uint64_t seen = 0;
	unsigned i;

	if (wanted >= d->count)
		return d->longest_ns;
	for (i = 0; i < DISTRIBUTION_SLOTS; i++) {
		seen += d->slot[i];
		if (seen > wanted)
			return time_of(i);
	}
	return d->longest_ns;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

void usage_read(struct usage *u)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	u->user_ns = timeval_ns(&r.ru_utime);
	u->system_ns = timeval_ns(&r.ru_stime);
	u->voluntary = (uint64_t)r.ru_nvcsw;
	u->involuntary = (uint64_t)r.ru_nivcsw;
}

struct usage usage_since(const struct usage *before)
{
	struct usage now;

	usage_read(&now);
	now.user_ns -= before->user_ns;
	now.system_ns -= before->system_ns;
	now.voluntary -= before->voluntary;
	now.involuntary -= before->involuntary;
	return now;
}

_Noreturn void measure_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		errno ? strerror(errno) : "no further cause");
	exit(1);
}
