/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_look: would a wait return at once? Nothing is taken. */
#include "smc_r/epoll/epoll_set.h"

#include <poll.h>

#include "smc_r/epoll/epoll_edge.h"
#include "smc_r/epoll/epoll_nested.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"
#include "smc_r/wait/readiness.h"

/* Nothing is consumed: an edge stays for who asks E. */
bool epoll_member_ready(struct epoll_member *m)
{
	uint32_t events = atomic_load(&m->events);
	struct epoll_marks now = epoll_marks(m);
	uint32_t bits;

	if (!atomic_load(&m->enabled) || atomic_load(&m->late))
		return false;
	bits =
	    readiness(m->connection, m->fd, events) & (events | EPOLL_ALWAYS);
	bits = epoll_half_waits(m, &now, bits);
	return bits && (!(events & EPOLLET) || epoll_has_edge(m, &now, bits));
}

/* Ours, and asked for what an instance can be. */
static bool may_be_told(const struct epoll_nested *d)
{
	return d->inner && d->ours && d->enabled &&
	       (d->events & (EPOLLIN | EPOLLRDNORM));
}

bool epoll_members_ready(struct epoll *e)
{
	bool all = !e->uses_bits || epoll_has_others(e);
	uint32_t count = all ? atomic_load(&e->count) : 0;

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
static void settle(struct epoll *e)
{
	if (e->shadow >= 0)
		epoll_harvest_all(e);
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours)
			settle(e->nested[i].inner);
}

/* Its signs, which were taken, were for all threads that sleep on it, and for
 * us if we do so next. */
static void pass_on(struct epoll *e)
{
	epoll_pass_on(e);
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours)
			pass_on(e->nested[i].inner);
}

bool epoll_kernel_ready(struct epoll *e)
{
	struct pollfd p = {.fd = e->fd, .events = POLLIN};
	bool ready;

	settle(e);
	inject_step(STEP_SETTLED);
	ready = SYS_CALL3(SYS_poll, &p, 1, 0) == 1;
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
	uint32_t count = atomic_load(&e->count);

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
