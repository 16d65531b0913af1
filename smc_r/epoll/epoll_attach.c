/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_attach: a member's descriptors in the shadows of its instance. */
#include "smc_r/epoll/epoll_attach.h"

#include <errno.h>

#include "smc_r/epoll/epoll_order.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/sys.h"

/* One instance may own a connection's waiter word; a second one is served by
 * the connection's own bells. So is one in a forked child of the process that
 * the RMB is for: other children give their instances the same numbers. */
static void take_waiter_word(struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint32_t none = 0;

	m->shared = m->epoll->waiter == 0 || !c->rmb->group ||
		    !atomic_compare_exchange_strong(&c->own_wait->waiter, &none,
						    m->epoll->waiter);
	/* From here on writers without fences see the word and fence. */
	if (!m->shared && !connection_settle(c))
		m->epoll->unsure = true;
}

/* It may be there already, under a member that another process made. known: it
 * surely was. False: the kernel has no memory for it. */
static bool watch(int ep, int fd, uint32_t events, uint64_t data, bool known)
{
	long result;

	if (known &&
	    sys_epoll_ctl(ep, EPOLL_CTL_MOD, fd, events, data) != -ENOENT)
		return true;
	result = sys_epoll_ctl(ep, EPOLL_CTL_ADD, fd, events, data);
	if (result == -EEXIST)
		sys_epoll_ctl(ep, EPOLL_CTL_MOD, fd, events, data);
	return result == 0 || result == -EEXIST;
}

/* Where it is not heard the clock looks for what it would tell. */
static void watch_bell(struct epoll_member *m, int bell)
{
	if (!watch(m->epoll->bells, bell, EPOLLIN | EPOLLET,
		   (uint64_t)(uintptr_t)m, false))
		m->epoll->unsure = true;
}

void epoll_attach_room(struct epoll_member *m)
{
	struct epoll *e = m->epoll;

	if (!m->attached || m->hears_room || e->bells < 0 ||
	    epoll_is_anothers(e))
		return;
	watch_bell(m, m->connection->bells.room);
	m->hears_room = true;
}

void epoll_attach_knock(struct epoll_member *m)
{
	struct connection *c = m->connection;
	struct epoll *e = m->epoll;

	if (m->hears_knock || m->attached || !knock_is_pending(c) ||
	    e->bells < 0 || epoll_is_anothers(e))
		return;
	for (uint32_t i = 0; i < c->knock.k.count; i++)
		watch_bell(m, c->knock.k.at[i].bell);
	m->hears_knock = true;
}

/* The bells are in B once for all members of the connection. That of the taken
 * one stays, as it is the connection's. */
static void leave_knock(struct epoll_member *m, int taken)
{
	struct connection *c = m->connection;

	if (!m->hears_knock)
		return;
	for (uint32_t i = 0; i < c->knock.k.count; i++)
		if ((int)i != taken && c->knock.k.at[i].held)
			sys_epoll_ctl(m->epoll->bells, EPOLL_CTL_DEL,
				      c->knock.k.at[i].bell, 0, 0);
	/* The knock was taken, and the member is not attached yet. */
	if (taken < 0 && c->rmb)
		sys_epoll_ctl(m->epoll->bells, EPOLL_CTL_DEL, c->bells.data, 0,
			      0);
	for (struct epoll_member *o = c->epoll.members; o; o = o->next)
		if (o->epoll == m->epoll)
			o->hears_knock = taken >= 0;
}

void epoll_knock_over(struct connection *c, int taken)
{
	for (struct epoll_member *m = c->epoll.members; m; m = m->next)
		leave_knock(m, taken);
}

/* From here on other processes leave us their rings; one that sleeps already
 * has to be told. */
static void note_watched(struct connection *c)
{
	uint64_t holders = atomic_load(&c->slot->holders);

	if ((atomic_load(&c->slot->socket_flags) & SOCKET_WATCHED) ||
	    (atomic_fetch_or(&c->slot->socket_flags, SOCKET_WATCHED) &
	     SOCKET_WATCHED) ||
	    !(holders & (holders - 1)))
		return;
	connection_wake_readers(c);
	connection_wake_writers(c);
}

static void attach_bells(struct epoll_member *m)
{
	struct connection *c = m->connection;

	note_watched(c);
	take_waiter_word(m);
	epoll_order_join(m);
	/* A knock that was taken has the same bell. */
	if (!m->hears_knock)
		watch_bell(m, c->bells.data);
	m->hears_knock = false;
	m->attached = true;
	if (m->shared)
		epoll_attach_room(m);
	if (!m->shared)
		epoll_ready_join(m);
}

void epoll_attach_sibling(const struct epoll *e, struct connection *c)
{
	struct epoll_member *m = c->epoll.members;

	while (m && (m->epoll != e || !m->attached))
		m = m->next;
	if (!m || !c->rmb || e->shadow < 0 || epoll_is_anothers(e))
		return;
	epoll_ready_leave(m);
	if (!m->shared)
		atomic_store(&c->own_wait->waiter, 0);
	attach_bells(m);
}

bool epoll_member_attach(struct epoll_member *m)
{
	struct connection *c = m->connection;
	int shadow = m->epoll->shadow;
	bool ring = connection_phase(c) == PHASE_ACTIVE;
	/* All events count: in a half demoted connection one direction is
	 * TCP's. */
	uint32_t tcp = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;
	uint64_t data = (uint64_t)(uintptr_t)m;

	/* The socket is registered anew when it becomes active: what was told
	 * before concerned the handshake. */
	if (!watch(shadow, m->fd, tcp, data, m->watched))
		return false;
	m->watched = true;
	if (ring && !m->attached)
		attach_bells(m);
	/* It is no edge of the kernel's that the socket is ready now. */
	if (atomic_load(&m->events) & EPOLLET) {
		epoll_drain_locked(m->epoll);
		epoll_wake(m->epoll, WAKE_CHANGE);
	}
	return true;
}

void epoll_member_detach(struct epoll_member *m)
{
	struct epoll *e = m->epoll;
	struct connection *c = m->connection;

	/* An instance of another process keeps its registrations: that process
	 * may go on waiting for the connection. */
	if (e->shadow >= 0 && !epoll_is_anothers(e)) {
		sys_epoll_ctl(e->shadow, EPOLL_CTL_DEL, m->fd, 0, 0);
		if (c->rmb && m->attached) {
			sys_epoll_ctl(e->bells, EPOLL_CTL_DEL, c->bells.data, 0,
				      0);
			if (m->hears_room)
				sys_epoll_ctl(e->bells, EPOLL_CTL_DEL,
					      c->bells.room, 0, 0);
		}
		if (c->rmb && m->hears_end)
			sys_epoll_ctl(e->shadow, EPOLL_CTL_DEL, c->bells.data,
				      0, 0);
		if (c->rmb && m->attached && !m->shared)
			atomic_store(&c->own_wait->waiter, 0);
	}
	if (e->shadow >= 0 && !epoll_is_anothers(e))
		leave_knock(m, -1);
	epoll_ready_leave(m);
	m->attached = m->watched = false;
	m->hears_room = m->hears_end = false;
}
