/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cpu_placement: leaving a processor that another busy thread keeps.
 */
#include "ofed_core/base/cpu_placement.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(10000000)
#define SHARE   5 /* waiting for more than one part in so many is too much */

/* False where the kernel does not tell. */
static bool read_waited(const struct cpu_placement *s, uint64_t *out)
{
	char text[64];
	unsigned long long waited;
	ssize_t n = pread(s->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	/* Time that it ran, time that it waited, how often. */
	if (sscanf(text, "%*u %llu", &waited) != 1)
		return false;
	*out = waited;
	return true;
}

/* All are allowed again, unless somebody has bound the thread meanwhile. */
static void release(struct cpu_placement *s)
{
	cpu_set_t now;

	s->is_bound = false;
	if (sched_getaffinity(0, sizeof(now), &now) == 0 &&
	    CPU_EQUAL(&now, &s->others))
		sched_setaffinity(0, sizeof(s->allowed), &s->allowed);
}

/*
 * Moves the thread to any other processor; the one that wakes it would soon
 * have it back.
 */
static void leave(struct cpu_placement *s)
{
	int here = sched_getcpu();

	if (here < 0 ||
	    sched_getaffinity(0, sizeof(s->allowed), &s->allowed) < 0)
		return;
	s->others = s->allowed;
	CPU_CLR(here, &s->others);
	s->is_bound = CPU_COUNT(&s->others) > 0 &&
		      sched_setaffinity(0, sizeof(s->others), &s->others) == 0;
}

void cpu_placement_end(struct cpu_placement *s)
{
	if (s->is_bound)
		release(s);
}

void cpu_placement_look(struct cpu_placement *s, uint64_t now)
{
	uint64_t since = now - s->looked;
	uint64_t before = s->waited;

	if (since < LOOK_NS)
		return;
	if (!s->is_open) {
		s->is_open = true;
		s->fd =
		    open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	}
	s->looked = now;
	if (s->fd < 0 || !read_waited(s, &s->waited))
		return;
	/* Not across a pause. */
	if (since >= 2 * LOOK_NS || s->waited - before <= since / SHARE)
		return;
	if (s->is_bound)
		release(s);
	else
		leave(s);
}
