/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cpu_placement: a thread that works on a stream leaves a processor for
 * which it has to wait, as another busy thread has it.
 *
 * The kernel balances threads when it finds them waiting. One that sleeps and
 * wakes a thousand times a second hardly ever waits when it looks, and stays
 * beside the thread that wakes it, where the two take turns.
 *
 * A struct that is all zero is a new one. Locking: its thread's own.
 */
#ifndef OFED_CORE_CPU_PLACEMENT_H
#define OFED_CORE_CPU_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct cpu_placement {
	bool is_open;
	int fd;          /* what the kernel knows of the thread, or -1 */
	uint64_t looked; /* ns of CLOCK_MONOTONIC */
	uint64_t waited; /* ns in all, for a processor */
	bool is_bound;   /* to `others` */
	cpu_set_t allowed;
	cpu_set_t others;
};

/*
 * The caller looks often while the stream lasts; every 10 ms this asks the
 * kernel how long the thread has waited since. The thread is then bound to the
 * other processors, until it waits there as well or the stream is over.
 */
void cpu_placement_look(struct cpu_placement *s, uint64_t now);
/* The stream is over: all processors are allowed again. */
void cpu_placement_end(struct cpu_placement *s);

#endif
