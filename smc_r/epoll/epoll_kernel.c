/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_kernel: members and the kernel's descriptors, without waiting. */
#include "smc_r/epoll/epoll_kernel.h"

#include <string.h>

#include "smc_r/epoll/epoll_order.h"
#include "smc_r/epoll/epoll_scan.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"

#define ASK_EVERY 16u      /* calls between questions to the kernel */
#define ASK_NS    50000u   /* time between them */
#define AWAY_NS   1000000u /* a program that did not ask for so long */

/* ---- the kernel's events ---- */

static void note_sign(struct epoll *e, uint64_t data)
{
	if (data == (e->cookie | EPOLL_RUNG)) {
		e->rung = true;
		return;
	}
	if (data == (e->cookie | EPOLL_DEATHS)) {
		e->bereaved = true;
		return;
	}
	e->undrained = true;
}

bool epoll_must_drain(const struct epoll *e)
{
	return e->undrained || (e->rung && e->uses_bits);
}

int epoll_filter(struct epoll *e, struct epoll_event *events, int n,
		 bool *woken)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (!epoll_is_cookie(e, events[i].data.u64)) {
			events[kept++] = events[i];
			continue;
		}
		*woken = true;
		note_sign(e, events[i].data.u64);
	}
	e->told = kept > 0;
	return kept;
}

/* A sign of ours may have taken the only place of the program's array. */
static int ask_now(struct epoll *e, struct epoll_event *events, int max)
{
	int tries = (int)EPOLL_COOKIES;
	bool woken = false;
	int n, kept;

	do {
		n = (int)SYS_CALL6(SYS_epoll_pwait, e->fd, events, max, 0, 0,
				   0);
		kept = n > 0 ? epoll_filter(e, events, n, &woken) : 0;
	} while (kept == 0 && n == max && --tries > 0);
	return kept;
}

void epoll_kernel_asked(struct epoll *e)
{
	atomic_store(&e->asked_ns, sys_now_ns());
	relaxed_store(&e->asked_ticks, sys_ticks());
}

int epoll_kernel(struct epoll *e, struct epoll_event *events, int max)
{
	int n = ask_now(e, events, max);

	epoll_kernel_asked(e);
	if (!epoll_must_drain(e))
		return n;
	e->moved = false;
	epoll_drain(e);
	/* The kernel was not asked about what is its own since then. */
	return e->moved && n < max ? n + ask_now(e, events + n, max - n) : n;
}

/* Descriptors of the kernel must not starve beside ready members, nor behind
 * them when the program's array is short. */
static bool kernel_is_due(struct epoll *e)
{
	return relaxed_add(&e->calls, 1) % ASK_EVERY == 0 ||
	       sys_now_ns() - atomic_load(&e->asked_ns) >= ASK_NS;
}

/* ---- both ---- */

/*
 * Nobody knows when a descriptor of the kernel became ready. That does not
 * matter to a program that looks often. One that was away for long, and finds
 * both kinds, is told of the members that became ready in the later half of
 * that time behind the kernel's: more often than not that is how it was.
 */
static void begin_order(struct epoll *e)
{
	uint64_t asked;

	e->middle = 0;
	if (sys_now_ns() - atomic_load(&e->asked_ns) < AWAY_NS)
		return;
	asked = relaxed_load(&e->asked_ticks);
	e->middle = asked + (sys_ticks() - asked) / 2;
}

/* events has n entries; the first ones are members. */
static int end_order(struct epoll *e, struct epoll_event *events, int members,
		     int n)
{
	struct epoll_event late[EPOLL_ORDER_MAX];
	int early = e->middle ? (int)e->early : members;
	int count = members - early;

	e->middle = 0;
	if (count <= 0 || count > EPOLL_ORDER_MAX || n <= members)
		return n;
	memcpy(late, events + early, (size_t)count * sizeof(late[0]));
	memmove(events + early, events + members,
		(size_t)(n - members) * sizeof(late[0]));
	memcpy(events + n - count, late, (size_t)count * sizeof(late[0]));
	return n;
}

/* Members come first, as a look may find that one is the kernel's since; but
 * not when they filled the array the last time. */
static int look_with_kernel(struct epoll *e, struct epoll_event *events,
			    int max)
{
	bool first = !e->filled;
	int n;

	e->filled = false;
	if (e->shadow >= 0)
		epoll_drain(e);
	if (first)
		begin_order(e);
	n = first ? epoll_scan(e, events, max) : epoll_kernel(e, events, max);
	if (n == max) {
		e->filled = first;
		return n;
	}
	inject_nap();
	if (first)
		return end_order(e, events, n,
				 n + epoll_kernel(e, events + n, max - n));
	e->moved = false;
	n += epoll_scan(e, events + n, max - n);
	/* epoll_kernel() says why. */
	return e->moved && n < max ? n + ask_now(e, events + n, max - n) : n;
}

/* n members are ready. */
static int ask_beside(struct epoll *e, struct epoll_event *events, int n,
		      int max)
{
	e->filled = n == max;
	if (e->shadow >= 0)
		epoll_drain(e);
	return n < max ? end_order(e, events, n,
				   n + epoll_kernel(e, events + n, max - n))
		       : n;
}

int epoll_kernel_first(struct epoll *e, struct epoll_event *events, int max,
		       bool only_looks, bool *asked)
{
	bool due = kernel_is_due(e);
	int n;

	*asked = only_looks || due;
	if (only_looks || (due && (e->filled || e->told)))
		return look_with_kernel(e, events, max);
	if (due)
		begin_order(e);
	n = epoll_scan(e, events, max);
	return n > 0 && due ? ask_beside(e, events, n, max) : n;
}
