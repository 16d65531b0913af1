/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * measure: clock, distribution of times and CPU use, for bench programs.
 *
 * Locking: none; every object belongs to one thread.
 */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include <stdint.h>

/* Monotonic time in nanoseconds. */
uint64_t measure_now_ns(void);

/* Binds the caller to one core; -1 leaves it where it is. Exits on error. */
void measure_pin(int cpu);

/*
 * Distribution of times: 64 steps to each power of two, so that a percentile
 * is true to 1.6 percent; 0 .. 2^40 ns, longer times count as the longest.
 */
#define DISTRIBUTION_STEPS 64
#define DISTRIBUTION_SLOTS (36 * DISTRIBUTION_STEPS)

struct distribution {
	uint64_t count;
	uint64_t longest_ns;
	uint64_t slot[DISTRIBUTION_SLOTS];
};

void distribution_add(struct distribution *d, uint64_t ns);

/* The time that `percent` of all times do not exceed; 0 when empty. */
uint64_t distribution_at(const struct distribution *d, double percent);

/* What a process used, all its threads together. */
struct usage {
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t voluntary;   /* context switches */
	uint64_t involuntary; /* context switches */
};

void usage_read(struct usage *u);

/* now - before, field by field. */
struct usage usage_since(const struct usage *before);

/* Exits with a line that names what failed and errno's words. */
_Noreturn void measure_fail(const char *what);

#endif
