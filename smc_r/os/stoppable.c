/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stoppable: sleeps that end when the process was stopped. */
#include "smc_r/os/stoppable.h"

#include <errno.h>
#include <pthread.h>

#include "smc_r/os/sys.h"

/* Times that cannot be written to: a power of two in nanoseconds, and the same
 * with a quarter, a half and three quarters more. */
#define SECOND 1000000000ull
#define TIME(ns)                                                               \
	{                                                                      \
		(time_t)((ns) / SECOND), (long)((ns) % SECOND)                 \
	}
#define STEPS(n)                                                               \
	TIME(4ull << (n)), TIME(5ull << (n)), TIME(6ull << (n)),               \
	    TIME(7ull << (n))
#define STEPS4(n) STEPS(n), STEPS((n) + 1), STEPS((n) + 2), STEPS((n) + 3)

#define SHIFT_FIRST 14 /* 65 us: timers are no finer */

static const struct timespec times[] = {
    STEPS4(SHIFT_FIRST),      STEPS4(SHIFT_FIRST + 4),
    STEPS4(SHIFT_FIRST + 8),  STEPS4(SHIFT_FIRST + 12),
    STEPS4(SHIFT_FIRST + 16), STEPS4(SHIFT_FIRST + 20),
    STEPS4(SHIFT_FIRST + 24),
};

#define TIMES (sizeof(times) / sizeof(*times))

/* The longest that is not longer, or the shortest. */
static const struct timespec *time_within(uint64_t ns)
{
	unsigned shift;
	size_t at;

	if (ns < 4ull << SHIFT_FIRST)
		return &times[0];
	shift = 61u - (unsigned)__builtin_clzll(ns);
	at = (size_t)(shift - SHIFT_FIRST) * 4 + (ns >> shift & 3);
	return &times[at < TIMES ? at : TIMES - 1];
}

/* The C library would sleep with a copy of the time. Its own cancellation
 * points are made like this, too. */
static long poll_once(struct pollfd *p, nfds_t n, uint64_t ns)
{
	long result;
	int type;

	/* NOLINTNEXTLINE(concurrency-thread-canceltype-asynchronous) */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	result = SYS_CALL6(SYS_ppoll, p, n, time_within(ns), 0, 0, 0);
	pthread_setcanceltype(type, NULL);
	return result;
}

int stoppable_poll(struct pollfd *p, nfds_t n, const struct timespec *timeout)
{
	uint64_t end = sys_end_ns(timeout);
	long result;

	do {
		result = poll_once(p, n, sys_left_ns(end));
	} while (result == 0 && sys_left_ns(end) > 0);
	if (result >= 0)
		return (int)result;
	errno = (int)-result;
	return -1;
}
