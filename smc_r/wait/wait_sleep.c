/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* wait_sleep: the sleeps of a thread that waits in a call. */
#include "smc_r/wait/wait_sleep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>

#include "smc_r/connection/bell_monitor.h"
#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/real.h"
#include "smc_r/os/stoppable.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"
#include "smc_r/wait/restart.h"
#include "smc_r/wait/stall.h"

#define SLICE_FIRST_MS 1
#define SLICE_MAX_MS   50
#define SLEEPS_A_LOOK  64

void wait_sleep_begin(struct wait_sleep *s, const struct timespec *timeout,
		      bool has_part)
{
	*s = (struct wait_sleep){.has_part = has_part,
				 .limited = timeout != NULL,
				 .slice_ms = SLICE_FIRST_MS};
	if (timeout)
		s->end_ns = sys_end_ns(timeout);
}

static void look_at_clock(struct wait_sleep *s)
{
	if (s->limited)
		s->left = sys_timespec(sys_left_ns(s->end_ns));
}

/* shutdown() by another thread or process of ours ends waits, too. */
static bool is_shut(const struct connection *c)
{
	return connection_reads_no_more(c) || connection_writes_no_more(c);
}

/*
 * ---- by the clock ----
 *
 * Several threads sleep for the same thing: a ring wakes one of them, so the
 * others look by the clock, in slices. Nobody but the first takes rings; one
 * that is not taken must not end every slice.
 */

static bool is_last(const struct wait_sleep *s)
{
	return s->limited && s->left.tv_sec == 0 &&
	       s->left.tv_nsec <= (long)s->slice_ms * 1000000;
}

static void lengthen(struct wait_sleep *s)
{
	s->slice_ms =
	    s->slice_ms * 2 < SLICE_MAX_MS ? s->slice_ms * 2 : SLICE_MAX_MS;
}

/* Does any handler end it, and a stop? */
static bool ends_early(const struct wait_sleep *s)
{
	return s->limited || s->has_part;
}

static int sleep_a_slice(struct pollfd *p, const struct wait_sleep *s)
{
	struct timespec slice = {0, (long)s->slice_ms * 1000000};

	if (is_last(s))
		slice = s->left;
	return ends_early(s) ? stoppable_poll(p, 1, &slice)
			     : real.ppoll(p, 1, &slice, NULL);
}

/* A sleep with a limit of ours ends for every handler, the program's only for
 * some; behind the others the kernel begins the call again, by its number. */
static int interrupted(const struct connection *c, const struct wait_sleep *s)
{
	if (ends_early(s) || restart_ends_call(false))
		return -EINTR;
	return atomic_load(&c->closing.in_call) ? -EBADF : 0;
}

static int sleep_by_clock(const struct connection *c, int bell,
			  struct wait_sleep *s)
{
	struct pollfd p = {.fd = s->rung ? -1 : bell, .events = POLLIN};
	bool last = is_last(s);
	int n = sleep_a_slice(&p, s);

	if (n < 0)
		return interrupted(c, s);
	lengthen(s);
	s->rung = n > 0;
	return n == 0 && last ? -EAGAIN : 0;
}

/* ---- on TCP, the bell, a bell monitor ---- */

/* The bell told that the peer's end is gone. Nearly always its TCP end is gone
 * too; if not, TCP is the one that will tell, and the ring may still move. */
static int sleep_on_tcp(struct connection *c, int fd, struct wait_sleep *s)
{
	short events = tcp_end_is_half(c) ? 0 : POLLRDHUP | POLLIN;
	struct pollfd p = {.fd = tcp_end_fd(c, fd), .events = events};
	bool last = is_last(s);
	int n;

	if (tcp_has_ended(c, fd) || is_shut(c))
		return 0;
	n = sleep_a_slice(&p, s);
	if (n < 0)
		return interrupted(c, s);
	lengthen(s);
	return n == 0 && last ? -EAGAIN : 0;
}

/* Somebody may have changed that by a way that we do not see: before the first
 * sleep, and now and then, the kernel is asked. */
static bool is_nonblocking(struct connection *c, int fd)
{
	long flags;

	/* Those that sleep on began before it was changed. */
	if (c->bell.sleeps++ % SLEEPS_A_LOOK ||
	    (atomic_load(&c->slot->socket_flags) & SOCKET_NONBLOCK))
		return false;
	flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0 || !(flags & O_NONBLOCK) || atomic_load(&c->closing.fd))
		return false;
	atomic_fetch_or(&c->slot->socket_flags, SOCKET_NONBLOCK);
	return true;
}

/* With several threads another one sleeps at a listener, and may hear of deaths
 * more cheaply. -1: none matters. */
static int deaths_beside(void)
{
	return __libc_single_threaded ? linkgroup_deaths() : -1;
}

/* With a time-out a signal ends the sleep in any case, as it does for TCP, and
 * so does a stop. So the end of TCP alone can end it as well. */
static int wait_beside_tcp(struct connection *c, int fd, int bell,
			   const struct timespec *timeout)
{
	struct pollfd p[2] = {
	    {.fd = bell, .events = POLLIN},
	    {.fd = tcp_end_fd(c, fd), .events = tcp_end_events(c)},
	};
	int n = stoppable_poll(p, 2, timeout);

	if (n < 0)
		return -errno;
	if (n == 0)
		return BELL_TIMEOUT;
	/* Closed by another thread: the bell will tell. */
	if (p[1].revents & POLLNVAL)
		return bell_wait(bell, timeout);
	if (p[1].revents)
		return BELL_HUNG_UP;
	return bell_monitor_drain(c, bell) ? BELL_HUNG_UP : BELL_RUNG;
}

/* The kernel restarts no such sleep by itself. */
static int listen_for(struct connection *c, int bell, int deaths,
		      const struct wait_sleep *s)
{
	struct pollfd p[2] = {{.fd = bell, .events = POLLIN}};
	int n;

	if (s->has_part)
		n = stoppable_poll(p, 1, NULL);
	else if (deaths < 0)
		n = real.ppoll(p, 1, NULL, NULL);
	else
		n = linkgroup_deaths_poll(p, 2, 1, UINT64_MAX, NULL);
	if (n < 0)
		return interrupted(c, s);
	return bell_monitor_drain(c, bell) ? BELL_HUNG_UP : BELL_RUNG;
}

/* The kernel restarts it, but for a call that it would not begin again. */
static int wait_for_ring(struct connection *c, int bell,
			 const struct wait_sleep *s)
{
	bool once = s->has_part || atomic_load(&c->closing.in_call);
	int result = once ? bell_wait_once(bell, NULL) : bell_wait(bell, NULL);

	return once && result == -EINTR ? interrupted(c, s) : result;
}

/* A stall cuts the sleep short. What a bell monitor has heard is taken, or it
 * would end each further sleep. */
static int wait_for_stall(struct connection *c, int bell, int ms,
			  const struct wait_sleep *s)
{
	int result = restart_wait(bell, ms, s->has_part);

	if (result == BELL_RUNG && bell_monitor_is(c, bell) &&
	    bell_monitor_drain(c, bell))
		return BELL_HUNG_UP;
	return result;
}

static bool is_longer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* The stall, in "stall_ms", or none: -1, ends the sleep, or the program's own
 * limit if that is not longer. */
static int sleep_by_ring(struct connection *c, int fd, int bell, int stall_ms,
			 struct wait_sleep *s)
{
	struct timespec stall = {stall_ms / 1000,
				 (long)(stall_ms % 1000) * 1000000};
	int deaths = s->limited ? -1 : deaths_beside();
	bool stalls =
	    stall_ms >= 0 && (!s->limited || is_longer(&s->left, &stall));
	int result;

	if (s->limited)
		result =
		    wait_beside_tcp(c, fd, bell, stalls ? &stall : &s->left);
	else if (stalls)
		result = wait_for_stall(c, bell, stall_ms, s);
	else if (bell_monitor_is(c, bell) || deaths >= 0)
		result = listen_for(c, bell, deaths, s);
	else
		result = wait_for_ring(c, bell, s);
	if (result == BELL_RUNG)
		bell_monitor_give_back(c, bell);
	if (result == BELL_TIMEOUT)
		return stalls ? 0 : -EAGAIN;
	if (result == BELL_HUNG_UP)
		return sleep_on_tcp(c, fd, s);
	return result;
}

static int sleep_on(struct connection *c, int fd, int bell, bool first,
		    int stall_ms, struct wait_sleep *s)
{
	look_at_clock(s);
	if (is_nonblocking(c, fd))
		return -EAGAIN;
	segment_count(sleeps);
	inject_step(STEP_LOOKED);
	return first ? sleep_by_ring(c, fd, bell, stall_ms, s)
		     : sleep_by_clock(c, bell, s);
}

int wait_sleep_for_bytes(struct connection *c, int fd, bool first,
			 struct wait_sleep *s)
{
	return sleep_on(c, fd, bell_monitor_data(c), first, -1, s);
}

int wait_sleep_for_room(struct connection *c, int fd, bool first,
			struct wait_sleep *s)
{
	return sleep_on(c, fd, bell_monitor_room(c), first,
			first ? stall_left_ms(c) : -1, s);
}
