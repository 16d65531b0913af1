/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_wait: a program that waits for completions stays awake for a moment:
 * a processor that has gone to sleep takes long to wake.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ofed_core/pure/awake.h"

static __thread struct awake awake;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* An event that is there or comes soon; else -1 with EAGAIN. */
static ssize_t read_awake(int fd, void *bytes, size_t count, uint64_t begin)
{
	uint64_t now = begin;
	uint64_t before;
	ssize_t n;

	for (;;) {
		n = SHIM_NEXT(recv)(fd, bytes, count, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN || !awake_may(&awake, begin, now))
			return n;
		before = clock_ns();
		sched_yield();
		now = clock_ns();
		awake_stepped(&awake, before, now);
	}
}

ssize_t shim_event_read(int fd, void *bytes, size_t count)
{
	int flags = SHIM_NEXT(fcntl)(fd, F_GETFL);
	int error = errno;
	uint64_t begin;
	ssize_t n;

	if (!count || flags < 0 || (flags & O_NONBLOCK))
		return SHIM_NEXT(read)(fd, bytes, count);
	begin = clock_ns();
	n = read_awake(fd, bytes, count, begin);
	if (n < 0 && errno == EAGAIN)
		n = SHIM_NEXT(read)(fd, bytes, count);
	if (n < 0)
		return n;
	awake_learn(&awake, clock_ns() - begin);
	errno = error;
	return n;
}
