/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_wait: sleeping until somebody is ready. */
#include "smc_r/epoll/epoll_set.h"

#include <limits.h>
#include <pthread.h>
#include <sys/single_threaded.h>

#include "smc_r/connection/spin.h"
#include "smc_r/epoll/epoll_arm.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_kernel.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_scan.h"
#include "smc_r/epoll/epoll_self.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"
#include "smc_r/wait/stall.h"

#define SPIN_ASK_NS  5000u /* a spin asks the kernel so often */
#define NS_PER_MS    1000000ull
#define SLEEP_MAX_NS 3600000000000ull /* the kernel counts in int ms */
#define UNSURE_MS    10               /* where a ring may be missing */
#define BARE_WAITS   256u             /* without members, until it is bare */
#define TELL_PART    2 /* divides a wait: so much is left when all is told */

/* ---- waiting ---- */

struct wait_until {
	bool for_ever;
	uint64_t end_ns;
	uint64_t tell_ns; /* what is hidden, so that it comes before a timer */
	struct sleeper *sleeper;
};

/* A client that has declined writes to TCP; what its server may still say, it
 * hears when it reads, perhaps never. */
static bool is_tcp_for_now(struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE &&
	       handshake_way(c, true) == WAY_KERNEL;
}

/* *shares: one of them is where we are. Handshakes may stand in front of the
 * few that are asked. */
static bool may_spin(struct epoll *e, bool *shares)
{
	uint32_t count = epoll_awake(e);
	uint32_t asked = 0;
	bool any = false;

	*shares = false;
	for (uint32_t i = 0; i < count && i < REST_MIN * 2 && asked < 4; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (!m || atomic_load(&m->late) ||
		    is_tcp_for_now(m->connection))
			continue;
		any = true;
		if (connection_phase(m->connection) != PHASE_ACTIVE)
			continue;
		asked++;
		*shares |= peer_is_on_our_core(m->connection);
	}
	return any;
}

/* The kernel has told of n descriptors of its own. Members that are ready by
 * now go with them, as they would on TCP: a program may live off having seen
 * all that was there, and close what it was not told of. */
static int join_members(struct epoll *e, struct epoll_event *events, int n,
			int max)
{
	if (n == max)
		return n;
	if (epoll_must_drain(e))
		epoll_drain(e);
	return n + epoll_scan(e, events + n, max - n);
}

static int spin(struct epoll *e, struct epoll_event *events, int max,
		const struct wait_until *until, struct spin *s)
{
	uint64_t asked = 0;
	bool shares;
	int n;

	s->start_ns = 0;
	if (!may_spin(e, &shares) ||
	    !spin_begin(s, &e->spin_score, shares,
			until->for_ever ? UINT64_MAX : until->end_ns))
		return 0;
	do {
		for (int i = 0; i < 8; i++) {
			n = epoll_scan(e, events, max);
			if (n > 0) {
				spin_hit(&e->spin_score);
				return n;
			}
		}
		if (s->spent_ns - asked < SPIN_ASK_NS)
			continue;
		asked = s->spent_ns;
		n = epoll_kernel(e, events, max);
		if (n > 0) {
			s->start_ns = 0;
			return join_members(e, events, n, max);
		}
	} while (spin_step(s));
	return 0;
}

/* The time is over. */
static void tell_overdue(struct epoll *e)
{
	if (!e->uses_bits || epoll_has_others(e))
		epoll_tell_hidden(e, handshake_tells_output);
}

/* -1: never. */
static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Milliseconds, rounded up; -1: no clock is to end it, and the kernel sets no
 * timer. */
static int sleep_ms(const struct wait_until *u, int pending)
{
	uint64_t now, end, left;

	if (u->for_ever)
		return pending;
	now = sys_now_ns();
	end = u->tell_ns < u->end_ns ? u->tell_ns : u->end_ns;
	left = now < end ? end - now : 0;
	if (left > SLEEP_MAX_NS)
		left = SLEEP_MAX_NS;
	return sooner((int)((left + NS_PER_MS - 1) / NS_PER_MS), pending);
}

/* Milliseconds until the clock makes a look or the freeing of kept elements
 * due; -1: it does not. */
static int changes_ms(struct epoll *e, struct epoll_armed armed)
{
	int ms = sooner(epoll_pending_ms(e), linkgroup_rest_ms());

	return armed.sure ? ms : sooner(UNSURE_MS, ms);
}

static int sleep_in_kernel(struct epoll *e, struct epoll_event *events, int max,
			   int ms, const sigset_t *mask, struct sleeper *s)
{
	volatile int n;

	inject_step(STEP_LOOKED);
	segment_count(sleeps);
	pthread_cleanup_push(sleeper_end, s);
	n = real.epoll_pwait(e->fd, events, max, ms, mask);
	pthread_cleanup_pop(0);
	return n;
}

/* One round: events, 0 to go on, EPOLL_CHANGED, or -1 with errno. */
static int sleep_round(struct epoll *e, struct epoll_event *events, int max,
		       const struct wait_until *until, const sigset_t *mask)
{
	uint32_t version = atomic_load(&e->version);
	bool woken = false;
	bool slept = false;
	struct epoll_armed armed;
	int ms, n;

	epoll_hear_deaths(e);
	if (!epoll_begin_sleep(e, until->sleeper))
		return EPOLL_CHANGED;
	/* What woke us last time may have been the end of a peer as well. This
	 * must not come after arming: a ring that is taken then would wake
	 * nobody. */
	if (epoll_must_drain(e))
		epoll_drain(e);
	armed = epoll_arm(e, false);
	n = epoll_scan(e, events, max);
	if (n == 0 && epoll_arm_again(&armed))
		n = epoll_scan(e, events, max);
	if (n == 0 && version == atomic_load(&e->version)) {
		if (linkgroup_rest_ms() == 0)
			linkgroup_rest();
		ms = sleep_ms(until, changes_ms(e, armed));
		n = sleep_in_kernel(e, events, max, ms, mask, until->sleeper);
		slept = true;
		inject_step(STEP_WOKEN);
		epoll_kernel_asked(e);
	}
	if (n > 0)
		n = epoll_filter(e, events, n, &woken);
	if (!epoll_end_sleep(e, until->sleeper) && n == 0)
		return EPOLL_CHANGED;
	return slept && (n > 0 || woken) ? join_members(e, events, n, max) : n;
}

static int wait_rounds(struct epoll *e, struct epoll_event *events, int max,
		       struct wait_until *until, const sigset_t *mask)
{
	struct spin s = {.start_ns = 0};
	uint64_t now;
	int n;

	first_burst_end();
	n = epoll_self_alone(e, events, max);
	if (n == 0)
		n = spin(e, events, max, until, &s);
	if (n > 0)
		return n;
	for (;;) {
		n = sleep_round(e, events, max, until, mask);
		if (n != 0) {
			spin_slept(&e->spin_score, &s);
			return n;
		}
		if (until->for_ever)
			continue;
		now = sys_now_ns();
		if (now >= until->end_ns)
			break;
		if (now < until->tell_ns)
			continue;
		until->tell_ns = UINT64_MAX;
		tell_overdue(e);
		n = epoll_scan(e, events, max);
		if (n != 0)
			return n;
	}
	tell_overdue(e);
	return epoll_scan(e, events, max);
}

/* A program that waits for so long, and no longer, has something else to do
 * then: such as to give up what it could not write to by that time. */
static struct wait_until wait_until(const struct timespec *timeout,
				    struct sleeper *sleeper)
{
	struct wait_until u = {.sleeper = sleeper,
			       .for_ever = timeout == NULL,
			       .end_ns = sys_end_ns(timeout),
			       .tell_ns = UINT64_MAX};

	if (timeout && connections_undecided())
		u.tell_ns = u.end_ns - sys_timeout_ns(timeout) / TELL_PART;
	return u;
}

struct wait_call {
	const struct timespec *timeout;
	const sigset_t *mask;
	bool took; /* the kernel's signs may have come to us */
	struct sleeper sleeper;
};

static int wait_members(struct epoll *e, struct epoll_event *events, int max,
			struct wait_call *call)
{
	const struct timespec *timeout = call->timeout;
	struct wait_until until;
	bool only_looks =
	    timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
	int n = epoll_kernel_first(e, events, max, only_looks, &call->took);

	call->took |= n == 0;
	/* What the kernel told may be news of a member. */
	if (n == 0 && only_looks) {
		e->moved = false;
		n = epoll_scan(e, events, max);
		if (n == 0 && e->moved)
			n = epoll_kernel(e, events, max);
		if (n == 0)
			n = epoll_self_alone(e, events, max);
		if (n == 0 && connections_undecided()) {
			tell_overdue(e);
			n = epoll_scan(e, events, max);
		}
	} else if (n == 0) {
		until = wait_until(timeout, &call->sleeper);
		n = wait_rounds(e, events, max, &until, call->mask);
	}
	return n;
}

int epoll_wait_members(struct epoll *e, struct epoll_event *events, int max,
		       const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t asked = atomic_load(&e->asked_ns);
	struct wait_call call = {.timeout = timeout, .mask = mask};
	int n;

	if (__builtin_expect(e->bereaved, 0))
		epoll_hear_deaths(e);
	if (relaxed_load(&e->shared->sleepers))
		epoll_begin_look(e, &call.sleeper);
	n = wait_members(e, events, max, &call);

	/* If a listener is in E, the kernel must have been asked first. */
	if (n > 0 && n < max && connections_starting() == 1 &&
	    atomic_load(&e->asked_ns) != asked)
		n = epoll_self_first(e, events, n, max);
	/* Somebody may wait on E itself: bells must ring while nobody scans. */
	if ((call.took || e->is_polled) && n != EPOLL_CHANGED)
		epoll_wake(e, WAKE_PASS_ON);
	epoll_rewoken(&call.sleeper);
	return n;
}

static int whole_ms(const struct timespec *t)
{
	if (!t)
		return -1;
	return t->tv_sec > INT_MAX / 1000 - 1
		   ? INT_MAX
		   : (int)(t->tv_sec * 1000 + t->tv_nsec / 1000000);
}

/* Makes the program's own call: the program may be confined to that one. */
static int kernel_waits(const struct epoll *e, struct epoll_event *events,
			int max, const struct timespec *t,
			const struct epoll_way *way)
{
	if (way->number == SYS_epoll_pwait2)
		return real.epoll_pwait2(e->fd, events, max, t, way->mask);
	if (way->number == SYS_epoll_pwait)
		return real.epoll_pwait(e->fd, events, max, whole_ms(t),
					way->mask);
	return real.epoll_wait(e->fd, events, max, whole_ms(t));
}

static int wait_in_kernel(const struct epoll *e, struct epoll_event *events,
			  int max, const struct timespec *t,
			  const struct epoll_way *way, struct sleeper *s)
{
	volatile int n;

	pthread_cleanup_push(sleeper_end, s);
	n = kernel_waits(e, events, max, t, way);
	pthread_cleanup_pop(0);
	return n;
}

/* Waits as well, and frees meanwhile what is kept of the last connections. */
static int wait_and_rest(const struct epoll *e, struct epoll_event *events,
			 int max, const struct timespec *timeout,
			 const struct epoll_way *way, struct sleeper *s)
{
	uint64_t end = 0;
	struct timespec t;
	int rest;

	while ((rest = linkgroup_rest_ms()) >= 0) {
		uint64_t ns = (uint64_t)rest * NS_PER_MS;
		int n;

		end = end ? end : sys_end_ns(timeout);
		if (timeout && sys_now_ns() + ns >= end)
			break;
		t = sys_timespec(ns);
		n = wait_in_kernel(e, events, max, &t, way, s);
		if (n != 0)
			return n;
		linkgroup_rest();
	}
	if (timeout && end) {
		uint64_t now = sys_now_ns();
		uint64_t left = now < end ? end - now : 0;

		t = sys_timespec((left + NS_PER_MS - 1) / NS_PER_MS *
				 NS_PER_MS);
		timeout = &t;
	}
	return wait_in_kernel(e, events, max, timeout, way, s);
}

/*
 * An instance whose connections are TCP's for a while gives back what it has of
 * ours, and its waits are the kernel's. Another thread may sleep on it, or may
 * add a member to it meanwhile.
 */
static void shed_shadow(struct epoll *e)
{
	if (e->shadow < 0 || !__libc_single_threaded || e->is_polled ||
	    linkgroup_deaths_matter() || ++e->bare_waits < BARE_WAITS)
		return;
	engine_lock();
	if (!epoll_has_members(e) && epoll_is_ours(e))
		epoll_remove_shadow(e);
	e->bare_waits = 0;
	engine_unlock();
}

int epoll_wait_plain(struct epoll *e, struct epoll_event *events, int max,
		     const struct timespec *timeout,
		     const struct epoll_way *way)
{
	struct sleeper sleeper = {.count = NULL};
	bool woken = false;
	int n;

	epoll_hear_deaths(e);
	shed_shadow(e);
	if (!epoll_begin_sleep(e, &sleeper))
		return EPOLL_CHANGED;
	/* From here on a thread that adds a member wakes us. */
	n = epoll_has_members(e)
		? EPOLL_CHANGED
		: wait_and_rest(e, events, max, timeout, way, &sleeper);
	if (n > 0 && epoll_has_cookies(e))
		n = epoll_filter(e, events, n, &woken);
	epoll_end_sleep(e, &sleeper);
	if (n > 0 && woken)
		epoll_wake(e, WAKE_PASS_ON);
	epoll_rewoken(&sleeper);
	return n == 0 && woken ? EPOLL_CHANGED : n;
}
