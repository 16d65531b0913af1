/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_peek: would a wait return at once? Nothing is taken. */
#include "smc_r/epoll/epoll_set.h"

#include <errno.h>
#include <poll.h>
#include <sys/single_threaded.h>

#include "smc_r/epoll/epoll_arm.h"
#include "smc_r/epoll/epoll_edge.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_nested.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"
#include "smc_r/wait/readiness.h"
#include "smc_r/wait/stall.h"

/* Nothing is consumed: an edge stays for the thread that asks E. */
bool epoll_member_ready(struct epoll_member *m)
{
	uint32_t events = atomic_load(&m->events);
	struct epoll_marks now = epoll_marks(m);
	uint64_t clock = 0;
	uint32_t bits;

	if (!atomic_load(&m->enabled) || atomic_load(&m->late) ||
	    epoll_is_quiet(m, &clock))
		return false;
	bits =
	    readiness(m->connection, m->fd, events) & (events | EPOLL_ALWAYS);
	bits = epoll_half_waits(m, &now, bits);
	return bits && (!(events & EPOLLET) || epoll_has_edge(m, &now, bits));
}

/* Is it ours, and asked for what an instance can be? */
static bool may_be_told(const struct epoll_nested *d)
{
	return d->inner && d->ours && d->enabled &&
	       (d->events & (EPOLLIN | EPOLLRDNORM));
}

bool epoll_members_ready(struct epoll *e)
{
	bool all = !e->uses_bits || epoll_has_others(e);
	uint32_t count = all ? epoll_awake(e) : 0;

	if (!all && epoll_ready_any(e, epoll_member_ready))
		return true;
	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && epoll_member_ready(m))
			return true;
	}
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++) {
		struct epoll_nested *d = &e->nested[i];

		if (may_be_told(d) &&
		    (!(d->events & EPOLLET) ||
		     epoll_nested_mark(d->inner) != d->seen) &&
		    epoll_members_ready(d->inner))
			return true;
	}
	return false;
}

/* The shadows' own signs of life are no events of the program's. */
static bool settle(struct epoll *e)
{
	bool news = e->shadow >= 0 && epoll_drain_all(e);

	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours)
			news |= settle(e->nested[i].inner);
	return news;
}

/* Its signs, which were taken, were for all threads that sleep on it, and for
 * us if we do so next. A wake-up of ours is passed on no further: members that
 * are ready, and that nobody is to be told of, would keep everybody awake. */
static void pass_on(struct epoll *e)
{
	epoll_rewake(e);
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours)
			pass_on(e->nested[i].inner);
}

bool epoll_kernel_ready(struct epoll *e)
{
	struct pollfd p = {.fd = e->fd, .events = POLLIN};
	bool news = settle(e);
	bool ready;

	inject_step(STEP_SETTLED);
	ready = SYS_CALL3(SYS_poll, &p, 1, 0) == 1;
	if (news)
		pass_on(e);
	if (ready)
		return true;
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++) {
		struct epoll_nested *d = &e->nested[i];

		if (may_be_told(d) && d->woken && epoll_kernel_ready(d->inner))
			return true;
	}
	return false;
}

bool epoll_is_ready(struct epoll *e)
{
	/* The kernel tells what TCP brought to members, too. */
	return epoll_members_ready(e) || epoll_kernel_ready(e) ||
	       epoll_members_ready(e);
}

uint64_t epoll_nested_mark(struct epoll *e)
{
	uint64_t mark = atomic_load(&e->version);
	uint32_t count = epoll_awake(e);

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);
		struct epoll_marks now;
		uint32_t events;

		if (!m || !atomic_load(&m->enabled))
			continue;
		events = atomic_load(&m->events);
		now = epoll_marks(m);
		if (events & EPOLL_INPUT)
			mark += now.input;
		if (events & EPOLL_OUTPUT)
			mark += now.output;
	}
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours)
			mark += epoll_nested_mark(e->nested[i].inner);
	return mark;
}

/* Milliseconds until a timer changes the readiness of m; -1: no timer. */
static int member_ms(struct epoll_member *m, uint64_t *now)
{
	bool output = atomic_load(&m->enabled) &&
		      (atomic_load(&m->events) & EPOLL_OUTPUT);
	int left = readiness_left_ms(m->connection, output, now);

	if (left < 0 || connection_phase(m->connection) == PHASE_HANDSHAKE)
		return left;
	atomic_store(&m->epoll->stalled, 1);
	if (left == 0)
		epoll_ready_mark(m);
	return left;
}

int epoll_pending_ms(struct epoll *e)
{
	uint32_t count = epoll_awake(e);
	uint64_t now = 0;
	int least = -1;

	if (!atomic_exchange(&e->stalled, 0) && e->uses_bits &&
	    !epoll_has_others(e))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);
		int left = m ? member_ms(m, &now) : -1;

		if (left >= 0 && (least < 0 || left < least))
			least = left;
	}
	return least;
}

/* The kernel told of an instance inside, and nobody has looked there. */
static bool nested_is_woken(const struct epoll *e)
{
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours &&
		    e->nested[i].woken)
			return true;
	return false;
}

/*
 * A ring wakes one of the threads that share an instance: it disarms all
 * members, and the kernel's sign of it goes to the first thread that looks. A
 * thread that may have taken it lets them ring again for those that sleep on,
 * and wakes one if there is more to tell, as the kernel does. A thread that
 * sleeps on e from outside, by poll() or in an instance around it, looks at
 * members alone.
 */
void epoll_rewake(struct epoll *e)
{
	bool asleep = atomic_load(&e->shared->sleepers) > 0;
	int error = errno;

	if ((!asleep && !e->is_nested) || e->shadow < 0 || epoll_is_anothers(e))
		return;
	inject_step(STEP_TOOK);
	epoll_arm_for_others(e);
	inject_step(STEP_PASSED);
	/* There may be no other thread: one that arms for its own next sleep
	 * looks. */
	if (!asleep && __libc_single_threaded)
		return;
	if (epoll_members_ready(e) ||
	    (asleep && (nested_is_woken(e) || epoll_pending_ms(e) >= 0)))
		epoll_wake(e);
	errno = error;
}
