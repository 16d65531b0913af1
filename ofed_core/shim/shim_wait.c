/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_wait: a program that waits for completions polls for a moment:
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

#include "ofed_core/pure/busy_poll.h"

static __thread struct busy_poll busy_poll;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* An event that is there or comes soon; else -1 with EAGAIN. */
static ssize_t read_busy(int fd, void *bytes, size_t count, uint64_t begin)
{
	uint64_t now = begin;
	uint64_t before;
	ssize_t n;

	for (;;) {
		n = SHIM_NEXT(recv)(fd, bytes, count, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN ||
		    !busy_poll_may(&busy_poll, begin, now))
			return n;
		before = clock_ns();
		sched_yield();
		now = clock_ns();
		busy_poll_stepped(&busy_poll, before, now);
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
	n = read_busy(fd, bytes, count, begin);
	if (n < 0 && errno == EAGAIN)
		n = SHIM_NEXT(read)(fd, bytes, count);
	if (n < 0)
		return n;
	busy_poll_learn(&busy_poll, clock_ns() - begin);
	errno = error;
	return n;
}
