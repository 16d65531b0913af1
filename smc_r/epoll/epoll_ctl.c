/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_ctl: the program changes what its instances wait for. */
#include "smc_r/epoll/epoll_ctl.h"

#include <errno.h>

#include "smc_r/epoll/epoll_adopt.h"
#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/messages.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"

/* What epoll_ctl(2) allows beside EPOLLEXCLUSIVE. */
#define EXCLUSIVE_OK                                                           \
	(EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET |    \
	 EPOLLEXCLUSIVE)

static bool belongs_to_kernel(struct connection *c)
{
	return !c || c->epoll.watched_by_kernel ||
	       connection_phase(c) == PHASE_NATIVE;
}

static void set_wanted(struct epoll_member *m, const struct epoll_event *event)
{
	m->data = event->data.u64;
	atomic_store(&m->in_seen, EPOLL_UNTOLD);
	atomic_store(&m->out_seen, UINT32_MAX);
	atomic_store(&m->bits_seen, 0);
	atomic_store(&m->events, event->events);
	atomic_store(&m->enabled, 1);
	epoll_member_news(m);
	epoll_ready_mark(m);
	epoll_note_late(m);
	atomic_fetch_add(&m->epoll->version, 1);
}

static int control_member(struct epoll *e, int op, int fd,
			  struct epoll_event *event)
{
	struct connection *c = connection_of(fd);
	struct epoll_member *m = epoll_member_find(e, fd);

	/* The kernel checks this before it looks for a registration. */
	if (op == EPOLL_CTL_MOD && (event->events & EPOLLEXCLUSIVE))
		return -EINVAL;
	if (op == EPOLL_CTL_ADD && (event->events & EPOLLEXCLUSIVE) &&
	    (event->events & ~(uint32_t)EXCLUSIVE_OK))
		return -EINVAL;
	if (m && atomic_load(&m->parked)) {
		epoll_member_drop(m);
		m = NULL;
	}
	if (op == EPOLL_CTL_ADD && m)
		return -EEXIST;
	if (op != EPOLL_CTL_ADD && !m)
		return -ENOENT;
	if (op == EPOLL_CTL_DEL) {
		epoll_member_drop(m);
		return 0;
	}
	if (op == EPOLL_CTL_MOD && (atomic_load(&m->events) & EPOLLEXCLUSIVE))
		return -EINVAL;
	if (op == EPOLL_CTL_ADD) {
		int result = epoll_make_shadow(e);

		if (result < 0)
			return result;
		m = epoll_member_add(e, c, fd, event);
		if (!m)
			return -ENOMEM;
		if (!epoll_member_attach(m)) {
			epoll_member_drop(m);
			return -ENOMEM;
		}
	} else {
		epoll_member_rouse(m);
		set_wanted(m, event);
	}
	return 0;
}

/* A thread that sleeps on E from outside is no sleeper of E; it is woken by
 * what is ready, as the kernel wakes it. */
static void tell(struct epoll *e, int op)
{
	if (op != EPOLL_CTL_DEL)
		epoll_wake(e, e->is_polled ? WAKE_PASS_ON : WAKE_CHANGE);
}

static int control_kernel(struct epoll *e, int op, int fd,
			  struct epoll_event *event)
{
	struct epoll *inner = op == EPOLL_CTL_ADD ? epoll_of(fd) : NULL;

	/* The program drew our cookie: nobody may mistake one for the other. */
	if (op != EPOLL_CTL_DEL && epoll_is_cookie(e, event->data.u64)) {
		engine_lock();
		epoll_draw_cookie(e);
		engine_unlock();
	}
	if (inner && inner != e)
		epoll_nest(inner);
	return real.epoll_ctl(e->fd, op, fd, event);
}

/*
 * Loops change what they wait for with every message, and many take a
 * descriptor out and put it back. For a member in the ring that costs a few
 * stores, no lock and no system call: one that was taken out stays attached,
 * parked, until its connection ends. 0, -errno, or 1: the long way.
 */
static int control_at_once(struct epoll *e, int op, int fd,
			   const struct epoll_event *event)
{
	struct connection *c = connection_of(fd);
	struct epoll_member *m = c ? c->epoll.members : NULL;
	uint32_t parked = 0;

	while (m && (m->epoll != e || m->key != fd))
		m = m->next;
	if (!m || !m->attached || connection_phase(c) != PHASE_ACTIVE)
		return 1;
	if (op == EPOLL_CTL_DEL) {
		if (!atomic_compare_exchange_strong(&m->parked, &parked, 1))
			return -ENOENT;
		atomic_store(&m->enabled, 0);
		return 0;
	}
	if ((event->events | atomic_load(&m->events)) & EPOLLEXCLUSIVE)
		return 1;
	parked = op == EPOLL_CTL_ADD;
	if (atomic_load(&m->parked) != parked)
		return parked ? -EEXIST : -ENOENT;
	set_wanted(m, event);
	atomic_store(&m->parked, 0);
	tell(e, op);
	return 0;
}

/* epoll_ctl() needs nothing of what the engine lacks for a member. The
 * connection goes to TCP, and is the kernel's. */
static bool do_without(struct connection *c, int fd, int result)
{
	if (result != -EMFILE && result != -ENFILE && result != -ENOMEM &&
	    result != -ELOOP)
		return false;
	epoll_shared_join(c, fd, REASON_DEMOTED_EPOLL);
	return connection_phase(c) == PHASE_NATIVE;
}

/*
 * The program has no descriptor left that an instance with members would need,
 * and epoll_ctl() needs none. A connection that can still be had on TCP is
 * registered with the kernel then.
 */
static void leave_to_kernel(struct epoll *e, struct connection *c, int fd)
{
	bool possible;

	if (e->shadow >= 0 || connection_phase(c) >= PHASE_ACTIVE)
		return;
	engine_lock();
	possible =
	    epoll_make_shadow(e) == -EMFILE && !messages_await_confirm(c);
	c->epoll.watched_by_kernel = possible;
	engine_unlock();
	if (possible)
		handshake_abort(c, fd, REASON_DESCRIPTORS);
}

/* There has been no connection: the kernel does it, and what it did is noted
 * without a call of ours. */
static int control_bare(struct epoll *e, int ep, int op, int fd,
			struct epoll_event *event)
{
	int result;

	if (e && op == EPOLL_CTL_ADD)
		epoll_remember(fd);
	result = real.epoll_ctl(ep, op, fd, event);
	if (result == 0 && e && op == EPOLL_CTL_ADD && epoll_of(fd) &&
	    !process.confined)
		epoll_nest(epoll_of(fd));
	return result;
}

int epoll_control(int ep, int op, int fd, struct epoll_event *event)
{
	struct epoll *e = epoll_of(ep);
	struct connection *c = connection_of(fd);
	struct epoll_member *m;
	uint32_t given;
	bool native;
	int result;

	if (fdtable_connections_end() == 0 || (process.confined && !c))
		return control_bare(e, ep, op, fd, event);
	/* Also what the kernel refuses before it looks at a descriptor. */
	if (!e || op < EPOLL_CTL_ADD || op > EPOLL_CTL_MOD ||
	    (op != EPOLL_CTL_DEL && !pages_hold(event, sizeof(*event), false)))
		return real.epoll_ctl(ep, op, fd, event);
	if (__builtin_expect(!epoll_is_settled(e), 0) ||
	    (c && op == EPOLL_CTL_ADD && epoll_is_bare(e)))
		epoll_claim(e);
	result = control_at_once(e, op, fd, event);
	if (result < 0) {
		errno = -result;
		return -1;
	}
	if (result == 0)
		return 0;
	if (!c) {
		if (op == EPOLL_CTL_ADD)
			epoll_remember(fd);
		return control_kernel(e, op, fd, event);
	}
	given = e->given;
	if (op == EPOLL_CTL_ADD && given)
		epoll_shared_join(c, fd, given);
	else if (op == EPOLL_CTL_ADD)
		leave_to_kernel(e, c, fd);
	engine_lock();
	m = epoll_member_find(e, fd);
	native = belongs_to_kernel(c);
	if (!native)
		result = control_member(e, op, fd, event);
	else if (m && op == EPOLL_CTL_ADD && !atomic_load(&m->parked))
		result = -EEXIST;
	else if (m)
		epoll_member_to_kernel(m);
	engine_unlock();
	if (op == EPOLL_CTL_ADD && result < 0 && do_without(c, fd, result)) {
		native = true;
		result = 0;
	}
	if (native && result >= 0)
		return control_kernel(e, op, fd, event);
	if (result == 0) {
		/* Another thread has just given it away. */
		if (op == EPOLL_CTL_ADD && e->given != given)
			epoll_shared_join(c, fd, e->given);
		tell(e, op);
		return 0;
	}
	errno = -result;
	return -1;
}
