/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spread: leaving a processor that another busy thread keeps.
 */
#include "spread.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(10000000)
#define SHARE   5 /* waiting for more than one part in so many is too much */

/* False where the kernel does not tell. */
static bool read_waited(const struct spread *s, uint64_t *out)
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

/* To any other processor; after that all are allowed again. */
static void leave(void)
{
	cpu_set_t allowed;
	cpu_set_t others;
	int here = sched_getcpu();

	if (here < 0 || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	others = allowed;
	CPU_CLR(here, &others);
	if (CPU_COUNT(&others) == 0 ||
	    sched_setaffinity(0, sizeof(others), &others) < 0)
		return;
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

void spread_look(struct spread *s, uint64_t now)
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
	if (since < 2 * LOOK_NS && s->waited - before > since / SHARE)
		leave();
}
