/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload_wait: poll, select, epoll. */
#include "smc_r/preload/preload.h"

#include <limits.h>
#include <sys/single_threaded.h>
#include <sys/time.h>
#include <time.h>

#include "smc_r/epoll/epoll_ctl.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_set.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/sys.h"
#include "smc_r/poll/poll_wait.h"
#include "smc_r/preload/preload_limits.h"
#include "smc_r/socket/sandbox.h"

/* glibc declares that poll() writes to fds and does not read it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

static const struct timespec *from_ms(int ms, struct timespec *t)
{
	if (ms < 0)
		return NULL;
	t->tv_sec = ms / 1000;
	t->tv_nsec = (long)(ms % 1000) * 1000000;
	return t;
}

/* The kernel refuses it before it looks at anything. */
static bool is_no_time(const struct timespec *t)
{
	return t && (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec > 999999999);
}

/* A mask that cannot be read: the same. Without connections it goes to the
 * kernel as it is, whatever it is. */
static bool is_no_mask(const sigset_t *mask)
{
	return mask && fdtable_connections_end() > 0 &&
	       !pages_hold(mask, _NSIG / 8, false);
}

/* For the kernel's part of it, where there is something to tell. */
static const struct timespec no_time;

/* Nothing of ours can be among what the program waits for. Connections that
 * there were may be in an instance of epoll that a fork has copied. */
static inline bool is_kernels(void)
{
	return (fdtable_connections_end() == 0 ||
		(fdtable_connections() == 0 && !linkgroup_deaths_matter() &&
		 atomic_load(&process.forks) == 0)) &&
	       !relaxed_load(&sandbox_holds);
}

/* ---- poll ---- */

static bool is_ours(const struct pollfd *fds, nfds_t n)
{
	return fdtable_connections_end() > 0 &&
	       pages_hold(fds, n * sizeof(*fds), true) &&
	       poll_has_members(fds, n) && n <= descriptor_limit();
}

static NOT_PLAIN int poll_any(struct pollfd *fds, nfds_t n, int ms)
{
	if (__builtin_expect(sandbox_holds, 0) && sandbox_polls(fds, n))
		return sandbox_polled(fds, n, real.poll(fds, n, 0));
	if (!is_ours(fds, n))
		return real.poll(fds, n, ms);
	cancellation_point();
	return poll_members_ms(fds, n, ms);
}

PRELOAD int poll(struct pollfd *fds, nfds_t n, int ms)
{
	return is_kernels() ? real.poll(fds, n, ms) : poll_any(fds, n, ms);
}

static NOT_PLAIN int ppoll_any(struct pollfd *fds, nfds_t n,
			       const struct timespec *t, const sigset_t *mask)
{
	if (__builtin_expect(sandbox_holds, 0) && sandbox_polls(fds, n))
		return sandbox_polled(fds, n,
				      real.ppoll(fds, n, &no_time, mask));
	if (!is_ours(fds, n) || is_no_time(t) || is_no_mask(mask))
		return real.ppoll(fds, n, t, mask);
	cancellation_point();
	return poll_members(fds, n, t, mask);
}

PRELOAD int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t,
		  const sigset_t *mask)
{
	return is_kernels() ? real.ppoll(fds, n, t, mask)
			    : ppoll_any(fds, n, t, mask);
}

PRELOAD_ALIAS(__poll, poll);

PRELOAD_CHECKED(int, __poll_chk,
		(struct pollfd fds[], nfds_t n, int ms, size_t room),
		n * sizeof(*fds) > room, poll(fds, n, ms))

PRELOAD_CHECKED(int, __ppoll_chk,
		(struct pollfd fds[], nfds_t n, const struct timespec *t,
		 const sigset_t *mask, size_t room),
		n * sizeof(*fds) > room, ppoll(fds, n, t, mask))

/* ---- select ---- */

/* Microseconds may be any number here. */
static uint64_t timeval_ns(const struct timeval *t)
{
	struct timespec whole = {.tv_sec = t->tv_sec};
	struct timespec rest = {t->tv_usec / 1000000,
				t->tv_usec % 1000000 * 1000};
	uint64_t ns = sys_timeout_ns(&whole) + sys_timeout_ns(&rest);

	return ns < INT64_MAX ? ns : INT64_MAX;
}

/* Linux writes back the time that is left. */
static NOT_PLAIN int select_any(int n, fd_set *r, fd_set *w, fd_set *x,
				struct timeval *t)
{
	struct timespec timeout;
	uint64_t end;
	uint64_t left;
	fd_set held;
	int result;

	if (__builtin_expect(sandbox_holds, 0) &&
	    sandbox_selects(n, r, &held)) {
		struct timeval now = {0, 0};

		return sandbox_selected(n, r, &held,
					real.select(n, r, w, x, &now));
	}
	n = select_reach(n, r, w, x);
	if (!select_has_members(n, r, w, x))
		return real.select(n, r, w, x, t);
	cancellation_point();
	if (!t)
		return select_members(n, r, w, x, NULL, NULL);
	if (t->tv_sec < 0 || t->tv_usec < 0)
		return real.select(n, r, w, x, t);
	left = timeval_ns(t);
	timeout = sys_timespec(left);
	end = sys_end_in_ns(left);
	result = select_members(n, r, w, x, &timeout, NULL);
	timeout = sys_timespec(sys_left_ns(end));
	t->tv_sec = timeout.tv_sec;
	t->tv_usec = timeout.tv_nsec / 1000;
	return result;
}

PRELOAD int select(int n, fd_set *restrict r, fd_set *restrict w,
		   fd_set *restrict x, struct timeval *restrict t)
{
	return is_kernels() && n <= FD_SETSIZE ? real.select(n, r, w, x, t)
					       : select_any(n, r, w, x, t);
}

static NOT_PLAIN int pselect_any(int n, fd_set *r, fd_set *w, fd_set *x,
				 const struct timespec *t, const sigset_t *mask)
{
	fd_set held;

	if (__builtin_expect(sandbox_holds, 0) && sandbox_selects(n, r, &held))
		return sandbox_selected(
		    n, r, &held, real.pselect(n, r, w, x, &no_time, mask));
	n = select_reach(n, r, w, x);
	if (!select_has_members(n, r, w, x) || is_no_time(t) ||
	    is_no_mask(mask))
		return real.pselect(n, r, w, x, t, mask);
	cancellation_point();
	return select_members(n, r, w, x, t, mask);
}

PRELOAD int pselect(int n, fd_set *restrict r, fd_set *restrict w,
		    fd_set *restrict x, const struct timespec *restrict t,
		    const sigset_t *restrict mask)
{
	return is_kernels() && n <= FD_SETSIZE
		   ? real.pselect(n, r, w, x, t, mask)
		   : pselect_any(n, r, w, x, t, mask);
}

PRELOAD_ALIAS(__select, select);

/* ---- epoll ---- */

#ifdef SYS_epoll_wait
#define BY_EPOLL_WAIT SYS_epoll_wait
#else
#define BY_EPOLL_WAIT SYS_epoll_pwait /* as libc's */
#endif

PRELOAD int epoll_create1(int flags)
{
	int fd = SCARCITY_CALL(real.epoll_create1(flags), -1);

	if (fd >= 0 && fdtable)
		epoll_created(fd);
	return fd;
}

PRELOAD int epoll_create(int size)
{
	int fd = SCARCITY_CALL(real.epoll_create(size), -1);

	if (fd >= 0 && fdtable)
		epoll_created(fd);
	return fd;
}

static NOT_PLAIN int control_any(int ep, int op, int fd,
				 struct epoll_event *event)
{
	int result = epoll_control(ep, op, fd, event);

	if (result == 0)
		sandbox_registered(ep, op, fd, event);
	return result;
}

PRELOAD int epoll_ctl(int ep, int op, int fd, struct epoll_event *event)
{
	if (__builtin_expect(relaxed_load(&sandbox_holds), 0))
		return control_any(ep, op, fd, event);
	return op == EPOLL_CTL_DEL && is_plain(fd)
		   ? real.epoll_ctl(ep, op, fd, event)
		   : epoll_control(ep, op, fd, event);
}

/* Where there is no memory for it an event is told as EFAULT, and is there yet
 * unless it was an edge. */
static int wait_checked(struct epoll *e, struct epoll_event *events, int max,
			const struct timespec *t, const sigset_t *mask)
{
	struct epoll_event event;
	int n;

	if (__builtin_expect(pages_hold(events, sizeof(*events), true), 1))
		return epoll_wait_members(e, events, max, t, mask);
	n = epoll_wait_members(e, &event, 1, t, mask);
	if (n <= 0)
		return n;
	errno = EFAULT;
	return -1;
}

/* Also for instances without members: they may get some while we sleep. */
static int wait_tracked(struct epoll *e, struct epoll_event *events, int max,
			const struct timespec *t, const struct epoll_way *way)
{
	int n;

	cancellation_point();
	do {
		if (__builtin_expect(!epoll_is_settled(e), 0))
			epoll_claim(e);
		n = epoll_has_members(e)
			? wait_checked(e, events, max, t, way->mask)
			: epoll_wait_plain(e, events, max, t, way);
	} while (n == EPOLL_CHANGED);
	return n;
}

/* As EP_MAX_EVENTS says. */
static bool is_room(int max)
{
	return max > 0 && max <= (int)(INT_MAX / sizeof(struct epoll_event));
}

/* Nothing of ours is in it, and nobody can bring a connection while we sleep:
 * no other thread, and no other process that has it. A handler can; but its
 * return ends the wait. */
static bool is_only_kernels(const struct epoll *e)
{
	return __libc_single_threaded && e->shadow < 0 &&
	       !epoll_has_members(e) && epoll_is_settled(e) &&
	       e->forks == atomic_load(&process.forks) &&
	       linkgroup_rest_ms() < 0 && !linkgroup_deaths_matter();
}

static NOT_PLAIN int wait_tracked_ms(struct epoll *e,
				     struct epoll_event *events, int max,
				     int ms, long number, const sigset_t *mask)
{
	const struct epoll_way way = {number, mask};
	struct timespec t;

	return wait_tracked(e, events, max, from_ms(ms, &t), &way);
}

PRELOAD int epoll_wait(int ep, struct epoll_event *events, int max, int ms)
{
	struct epoll *e = epoll_of(ep);

	if (!e || !is_room(max) || is_only_kernels(e))
		return real.epoll_wait(ep, events, max, ms);
	return wait_tracked_ms(e, events, max, ms, BY_EPOLL_WAIT, NULL);
}

PRELOAD int epoll_pwait(int ep, struct epoll_event *events, int max, int ms,
			const sigset_t *mask)
{
	struct epoll *e = epoll_of(ep);

	if (!e || !is_room(max) || is_only_kernels(e) || is_no_mask(mask))
		return real.epoll_pwait(ep, events, max, ms, mask);
	return wait_tracked_ms(e, events, max, ms, SYS_epoll_pwait, mask);
}

PRELOAD int epoll_pwait2(int ep, struct epoll_event *events, int max,
			 const struct timespec *t, const sigset_t *mask)
{
	const struct epoll_way way = {SYS_epoll_pwait2, mask};
	struct epoll *e = epoll_of(ep);

	if (!e || !is_room(max) || is_only_kernels(e) || is_no_mask(mask) ||
	    (fdtable_connections_end() > 0 &&
	     ((t && !pages_hold(t, sizeof(*t), false)) || is_no_time(t))))
		return real.epoll_pwait2(ep, events, max, t, mask);
	return wait_tracked(e, events, max, t, &way);
}
