/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_nested: instances inside other instances. */
#include "smc_r/epoll/epoll_nested.h"

#include <errno.h>

#include "smc_r/epoll/epoll_arm.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

static struct epoll_nested *find(struct epoll *e, const struct epoll *inner,
				 int fd)
{
	for (int i = 0; i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner == inner &&
		    (!inner || e->nested[i].fd == fd))
			return &e->nested[i];
	return NULL;
}

/* Slot 0 is the shadow's own. */
static uint64_t cookie_of(const struct epoll *e, const struct epoll_nested *d)
{
	return e->cookie | (uint64_t)(d - e->nested + 1);
}

/* What is ready now is told again, as after every registration. */
static void renew(struct epoll_nested *d, const struct epoll_event *event)
{
	d->events = event->events;
	d->data = event->data.u64;
	d->seen = ~epoll_nested_mark(d->inner);
	d->woken = true;
	d->enabled = true;
}

/* ---- registering; the engine lock is held ---- */

/* From here on the kernel's registration is a sign of life. */
static int take(struct epoll *e, struct epoll_nested *d, int op)
{
	int result = epoll_make_shadow(e);

	if (result == 0)
		result = (int)sys_epoll_ctl(e->fd, op, d->fd, EPOLLIN | EPOLLET,
					    cookie_of(e, d));
	if (result < 0)
		return result;
	d->ours = true;
	e->nested_count++;
	if (e->is_nested)
		epoll_nested_adopt(e);
	epoll_wake(e);
	return 0;
}

static int add(struct epoll *e, struct epoll *inner, int fd,
	       const struct epoll_event *event)
{
	struct epoll_nested *d = find(e, NULL, 0);
	int result;

	if (d) {
		d->fd = fd;
		d->inner = inner;
		d->ours = false;
		renew(d, event);
	}
	/* What the kernel will refuse it shall refuse. */
	if (d && epoll_has_members(inner) && !(event->events & EPOLLEXCLUSIVE))
		result = take(e, d, EPOLL_CTL_ADD);
	else
		result = (int)sys_epoll_ctl(e->fd, EPOLL_CTL_ADD, fd,
					    event->events, event->data.u64);
	if (d && result < 0)
		d->inner = NULL;
	else
		inner->is_nested = true;
	return result;
}

static int modify(struct epoll *e, struct epoll_nested *d, int fd,
		  const struct epoll_event *event)
{
	int result = 0;

	if (d && d->ours && (event->events & EPOLLEXCLUSIVE))
		return -EINVAL;
	if (!d || !d->ours)
		result = (int)sys_epoll_ctl(e->fd, EPOLL_CTL_MOD, fd,
					    event->events, event->data.u64);
	if (d && result == 0) {
		renew(d, event);
		atomic_fetch_add(&e->version, 1);
		epoll_wake(e);
	}
	return result;
}

static void let_go(struct epoll *e, struct epoll_nested *d)
{
	d->inner = NULL;
	if (d->ours)
		e->nested_count--;
	d->ours = false;
}

static int control(struct epoll *e, struct epoll *inner, int op, int fd,
		   const struct epoll_event *event)
{
	struct epoll_nested *d = find(e, inner, fd);
	int result;

	if (op == EPOLL_CTL_ADD)
		return d ? -EEXIST : add(e, inner, fd, event);
	if (op == EPOLL_CTL_MOD)
		return modify(e, d, fd, event);
	result = (int)sys_epoll_ctl(e->fd, op, fd, 0, 0);
	if (d && result == 0)
		let_go(e, d);
	return result;
}

static int control_locked(struct epoll *e, struct epoll *inner, int op, int fd,
			  const struct epoll_event *event)
{
	sigset_t saved;
	int result;

	engine_lock(&saved);
	result = control(e, inner, op, fd, event);
	engine_unlock(&saved);
	return result;
}

/* True if there were shadows, which are instances inside instances, too. */
static bool give_tree(struct epoll *e)
{
	bool any = e->shadow >= 0;

	for (int i = 0; i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner)
			any |= give_tree(e->nested[i].inner);
	epoll_release_to_kernel(e);
	return any;
}

int epoll_nested_control(struct epoll *e, int op, int fd,
			 const struct epoll_event *event)
{
	struct epoll *inner = epoll_of(fd);
	int result = control_locked(e, inner, op, fd, event);

	if (result == -ELOOP && op == EPOLL_CTL_ADD && inner != e &&
	    give_tree(inner))
		result = control_locked(e, inner, op, fd, event);
	if (result == 0 && op != EPOLL_CTL_DEL)
		epoll_arm(inner);
	return result;
}

/* Two threads may register at the same time. */
static struct epoll_nested *find_free(struct epoll *e, struct epoll *inner)
{
	for (int i = 0; i < EPOLL_NESTED_MAX; i++) {
		struct epoll *none = NULL;

		if (__atomic_compare_exchange_n(&e->nested[i].inner, &none,
						inner, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return &e->nested[i];
	}
	return NULL;
}

void epoll_nested_note(struct epoll *e, int op, int fd,
		       const struct epoll_event *event)
{
	struct epoll *inner = epoll_of(fd);
	struct epoll_nested *d =
	    op == EPOLL_CTL_ADD ? find_free(e, inner) : find(e, inner, fd);
	sigset_t saved;

	if (op == EPOLL_CTL_ADD)
		inner->is_nested = true;
	if (!d)
		return;
	if (op == EPOLL_CTL_DEL) {
		let_go(e, d);
		return;
	}
	d->fd = fd;
	renew(d, event);
	/* Another thread has just brought it its first member. */
	if (epoll_has_members(inner)) {
		engine_lock(&saved);
		epoll_nested_adopt(inner);
		engine_unlock(&saved);
	}
}

void epoll_nested_adopt(struct epoll *inner)
{
	for (int ep = 0; ep < fdtable_program_end(); ep++) {
		struct epoll *e = epoll_of(ep);

		for (int i = 0; e && i < EPOLL_NESTED_MAX; i++) {
			struct epoll_nested *d = &e->nested[i];

			if (d->inner != inner || d->ours)
				continue;
			d->woken = true;
			take(e, d, EPOLL_CTL_MOD);
		}
	}
}

void epoll_nested_forget(struct epoll *inner)
{
	for (int ep = 0; ep < fdtable_program_end(); ep++) {
		struct epoll *e = epoll_of(ep);

		for (int i = 0; e && i < EPOLL_NESTED_MAX; i++)
			if (e->nested[i].inner == inner)
				let_go(e, &e->nested[i]);
	}
}

void epoll_nested_redraw(struct epoll *e)
{
	for (int i = 0; i < EPOLL_NESTED_MAX; i++) {
		struct epoll_nested *d = &e->nested[i];

		if (d->inner && d->ours)
			sys_epoll_ctl(e->fd, EPOLL_CTL_MOD, d->fd,
				      EPOLLIN | EPOLLET, cookie_of(e, d));
	}
}

void epoll_nested_give(struct epoll *e)
{
	for (int i = 0; i < EPOLL_NESTED_MAX; i++) {
		struct epoll_nested *d = &e->nested[i];

		if (!d->inner || !d->ours)
			continue;
		sys_epoll_ctl(e->fd, EPOLL_CTL_MOD, d->fd, d->events, d->data);
		let_go(e, d);
	}
}

/* ---- readiness ---- */

void epoll_nested_woken(struct epoll *e, uint64_t data)
{
	uint64_t slot = data - e->cookie;

	if (slot >= 1 && slot <= EPOLL_NESTED_MAX)
		e->nested[slot - 1].woken = true;
}

static bool has_due_members(struct epoll_nested *d, struct epoll *inner)
{
	bool edge = d->events & EPOLLET;
	uint64_t mark = edge ? epoll_nested_mark(inner) : 0;

	if ((edge && mark == d->seen) || !epoll_members_ready(inner))
		return false;
	d->seen = mark;
	if (edge)
		d->woken = false;
	return true;
}

/* The kernel is asked only after its sign of life. */
static bool is_due(struct epoll_nested *d, struct epoll *inner)
{
	if (has_due_members(d, inner))
		return true;
	epoll_follow(inner);
	if (!d->woken)
		return false;
	d->woken = false;
	/* What TCP brought to a member is known since it was asked. */
	if (!epoll_kernel_ready(inner))
		return has_due_members(d, inner);
	if (!(d->events & EPOLLET))
		d->woken = true;
	return true;
}

int epoll_nested_scan(struct epoll *e, struct epoll_event *events, int max)
{
	uint32_t start = atomic_load(&e->nested_turn);
	int n = 0;

	for (uint32_t i = 0; i < EPOLL_NESTED_MAX && n < max; i++) {
		uint32_t at = (start + i) % EPOLL_NESTED_MAX;
		struct epoll_nested *d = &e->nested[at];
		struct epoll *inner = d->inner;
		uint32_t bits = d->events & (EPOLLIN | EPOLLRDNORM);

		if (!inner || !d->ours || !d->enabled || !bits ||
		    !is_due(d, inner))
			continue;
		if (d->events & EPOLLONESHOT)
			d->enabled = false;
		events[n].events = bits;
		events[n].data.u64 = d->data;
		if (++n == max)
			atomic_store(&e->nested_turn, at + 1);
	}
	return n;
}
