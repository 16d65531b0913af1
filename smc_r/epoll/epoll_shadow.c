/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_shadow: what the kernel tells of members. */
#include "smc_r/epoll/epoll_shadow.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "smc_r/epoll/epoll_judge.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/stream/stream.h"

#define DRAIN_EVENTS 64
#define GONE_NAPS    20
#define GONE_NAP_NS  100000

/* ---- what it tells ---- */

/* The part of the kernel's struct tcp_info that tells what came. */
struct tcp_now {
	uint8_t state;
	uint8_t others[127];
	uint64_t received; /* bytes; a FIN is one */
};

static struct tcp_now tcp_now(int fd)
{
	struct tcp_now now = {0};

	sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &now, sizeof(now));
	return now;
}

static bool has_sent_fin(uint8_t state)
{
	return state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT;
}

void epoll_note_late(struct epoll_member *m)
{
	uint32_t late = LATE_WAITS;

	if (!atomic_compare_exchange_strong(&m->late, &late, LATE_EDGE))
		return;
	atomic_fetch_add(&m->epoll->due, 1);
	m->epoll->undrained = true;
}

/* The peer's end of stream, which the ring told of. */
static bool end_is_known(const struct epoll_member *m)
{
	const struct connection *c = m->connection;

	return c->rmb && stream_is_shut(c);
}

/*
 * Where TCP's byte 0 would stand in the stream: what lies in a sealed ring came
 * before TCP's bytes; but what a frozen reader left there comes once more.
 * Where there never was a ring, TCP's count is as good as another one.
 */
static uint64_t tcp_begin(const struct connection *c)
{
	const struct status_slot *slot = c->slot;
	uint64_t first;

	if (!c->rmb)
		return 0;
	if (stream_is_frozen(c))
		first = atomic_load(&slot->frozen);
	else if (stream_is_recalled(c))
		first = atomic_load(&slot->rx.position);
	else
		first = atomic_load(&c->in_producer->cursor);
	return first - atomic_load(&slot->taken);
}

/* Is it further than what came before, by whatever way? */
static bool note_reached(struct epoll_member *m, uint64_t at)
{
	if (at <= atomic_load(&m->tcp_input))
		return false;
	atomic_store(&m->tcp_input, at);
	return true;
}

/* A socket that goes back to TCP wakes for what the rings told before: bytes,
 * FINs of either end, and their acknowledgements. */
static bool is_old_news(struct epoll_member *m, uint32_t events)
{
	struct tcp_now now;
	bool same;

	if (events & EPOLLERR)
		return false;
	now = tcp_now(m->fd);
	same = !note_reached(m, m->tcp_begin + now.received) || end_is_known(m);
	if (!has_sent_fin(now.state))
		/* An event for output may be news of room. */
		return same && !(events & EPOLLOUT);
	return same && m->fin_sent;
}

/* TCP has input behind a sealed ring with bytes in it. */
static void note_input(struct epoll_member *m)
{
	if (!end_is_known(m))
		note_reached(m, tcp_begin(m->connection) +
				    tcp_now(m->fd).received);
}

/* Behind the FIN of a half TCP tells no other end. But the bell hangs up, and
 * its owner's sockets go in the next moment if they have not gone before. */
static void note_end(struct epoll_member *m)
{
	struct connection *c = m->connection;
	struct timespec nap = {0, GONE_NAP_NS};

	for (int i = 0; !tcp_has_ended(c, m->fd) && m->hears_end; i++) {
		if (i == GONE_NAPS || !tcp_end_hangs_up(c))
			return;
		SYS_CALL3(SYS_nanosleep, &nap, NULL, 0);
	}
	if (!m->hears_end && m->attached && tcp_end_is_half(c) &&
	    !connection_tcp_ended(c))
		m->hears_end = sys_epoll_ctl(m->epoll->shadow, EPOLL_CTL_ADD,
					     c->bells.data, EPOLLET,
					     (uint64_t)(uintptr_t)m) == 0;
}

static void note_event(struct epoll_member *m, uint32_t events)
{
	uint32_t phase = connection_phase(m->connection);
	uint32_t late = atomic_load(&m->late);

	if (late == LATE_WAITS && !is_old_news(m, events))
		epoll_note_late(m);
	if (late != LATE_NOT)
		return;
	if (phase == PHASE_ACTIVE &&
	    (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		note_end(m);
	if ((events & EPOLLIN) && m->attached &&
	    stream_is_sealed(m->connection))
		note_input(m);
	/* It became plain TCP in another process of this end. */
	if ((events & EPOLLOUT) && phase == PHASE_NATIVE)
		atomic_fetch_add(&m->tcp_output, 1);
}

/* While no thread may write, it is no news that TCP has room. */
static bool is_news(struct connection *c, uint32_t events)
{
	return connection_phase(c) != PHASE_HANDSHAKE ||
	       (events & ~(uint32_t)EPOLLOUT) ||
	       handshake_way(c, true) == WAY_KERNEL;
}

/* The shadow has heard from it. */
static void rouse(struct epoll_member *m, bool locked)
{
	if (!epoll_member_rests(m))
		return;
	if (!locked)
		engine_lock();
	if (atomic_load(&m->live))
		epoll_member_rouse(m);
	if (!locked)
		engine_unlock();
}

/* Each member that stands in this instance. True: there was news of one, and
 * not only a wake-up of ours. */
static bool drain(struct epoll *e, int ep, bool locked,
		  void (*note)(struct epoll_member *m, uint32_t events))
{
	struct epoll_event events[DRAIN_EVENTS];
	bool news = false;
	long n;

	/* Events of another process's instance carry addresses that are none
	 * here. */
	if (epoll_is_anothers(e))
		return false;
	do {
		n = SYS_CALL6(SYS_epoll_pwait, ep, events, DRAIN_EVENTS, 0, 0,
			      0);
		for (long i = 0; i < n; i++) {
			struct epoll_member *m =
			    (void *)(uintptr_t)events[i].data.u64;

			if (!m || !atomic_load(&m->live) || m->epoll != e)
				continue;
			if (note)
				note(m, events[i].events);
			if (!is_news(m->connection, events[i].events))
				continue;
			epoll_member_news(m);
			rouse(m, locked);
			epoll_ready_mark(m);
			news = true;
		}
	} while (n == DRAIN_EVENTS);
	return news;
}

void epoll_drain_locked(struct epoll *e)
{
	ENGINE_LOCKED();
	drain(e, e->shadow, true, note_event);
}

static struct epoll_member *find_due(struct epoll *e)
{
	struct epoll_member *_Atomic *table = atomic_load(&e->members);
	uint32_t n = atomic_load(&e->count);

	for (uint32_t i = 0; i < n; i++) {
		struct epoll_member *m = atomic_load(&table[i]);

		if (atomic_load(&m->late) == LATE_EDGE)
			return m;
	}
	return NULL;
}

static void move_due(struct epoll *e)
{
	struct epoll_member *m;

	engine_lock();
	while (atomic_load(&e->due) && (m = find_due(e)) != NULL)
		epoll_member_to_kernel(m);
	atomic_store(&e->due, 0);
	engine_unlock();
}

static bool drain_both(struct epoll *e, bool bells)
{
	bool news;

	e->undrained = false;
	news = drain(e, e->shadow, false, note_event);
	if (bells) {
		e->rung = false;
		news |= drain(e, e->bells, false, NULL);
	}
	if (__builtin_expect(atomic_load(&e->due) != 0, 0))
		move_due(e);
	return news;
}

void epoll_drain(struct epoll *e)
{
	drain_both(e, e->rung && e->uses_bits);
}

bool epoll_drain_all(struct epoll *e)
{
	return drain_both(e, true);
}

/* ---- leaving ---- */

/* An instance that sees every wake of this socket from now on. */
static int observer_open(int fd)
{
	struct epoll_event event;
	int o = (int)SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0);

	if (o < 0)
		return -1;
	if (sys_epoll_ctl(o, EPOLL_CTL_ADD, fd,
			  EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET,
			  0) < 0) {
		sys_close(o);
		return -1;
	}
	SYS_CALL6(SYS_epoll_pwait, o, &event, 1, 0, 0, 0);
	return o;
}

static bool observer_saw(int o)
{
	struct epoll_event event;

	return SYS_CALL6(SYS_epoll_pwait, o, &event, 1, 0, 0, 0) != 0;
}

static bool peer_has_ended(uint8_t state)
{
	return state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK ||
	       state == TCP_CLOSING || state == TCP_TIME_WAIT ||
	       state == TCP_CLOSE;
}

/* Nothing that the peer does was told before the connection was decided; but
 * the same bits may have been, if the program shut its own half. */
static bool is_first_news(const struct epoll_member *m)
{
	int bytes = 0;

	if (m->connection->rmb)
		return false;
	SYS_CALL3(SYS_ioctl, m->fd, FIONREAD, &bytes);
	return bytes > 0 || peer_has_ended(tcp_now(m->fd).state);
}

static bool knows_all(struct epoll_member *m)
{
	struct pollfd p = {.fd = m->fd,
			   .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
	uint32_t events = atomic_load(&m->events);
	struct epoll_view now, seen;
	uint32_t bits;

	epoll_drain_locked(m->epoll);
	now = epoll_view(m);
	if (SYS_CALL3(SYS_poll, &p, 1, 0) < 0)
		return false;
	bits = (uint32_t)(unsigned short)p.revents;
	now.bits = bits & (events | EPOLL_ALWAYS);
	seen = epoll_seen(m, now, false);
	/* Urgent data wakes threads that did not ask for it as well. */
	if (bits & ~seen.bits & EPOLLPRI)
		return false;
	return now.bits && !epoll_is_edge(events, seen, now) &&
	       !is_first_news(m);
}

/* From here on the shadow tells what the program's own registration would. */
static void ask_exactly(struct epoll_member *m)
{
	uint32_t events =
	    atomic_load(&m->events) & ~(uint32_t)(EPOLLONESHOT | EPOLLWAKEUP);
	int shadow = m->epoll->shadow;

	sys_epoll_ctl(shadow, EPOLL_CTL_DEL, m->fd, 0, 0);
	sys_epoll_ctl(shadow, EPOLL_CTL_ADD, m->fd, events | EPOLLET,
		      (uint64_t)(uintptr_t)m);
	epoll_drain_locked(m->epoll);
}

/* False: something happened meanwhile, and nobody knows whether it was told. */
static bool become_late(struct epoll_member *m)
{
	struct connection *c = m->connection;
	int o = observer_open(m->fd);
	struct tcp_now now;
	bool quiet;

	if (o < 0)
		return false;
	quiet = knows_all(m);
	if (quiet) {
		now = tcp_now(m->fd);
		m->tcp_begin = tcp_begin(c);
		if (c->rmb)
			note_reached(m, atomic_load(&c->in_producer->cursor));
		note_reached(m, m->tcp_begin + now.received);
		m->fin_sent = has_sent_fin(now.state);
		atomic_store(&m->late, LATE_SETTLE);
		ask_exactly(m);
		quiet = !observer_saw(o);
		atomic_store(&m->late, quiet ? LATE_WAITS : LATE_NOT);
	}
	sys_close(o);
	return quiet;
}

void epoll_member_leave(struct epoll_member *m)
{
	bool stays =
	    atomic_load(&m->late) != LATE_NOT ||
	    ((atomic_load(&m->events) & EPOLLET) && !atomic_load(&m->parked) &&
	     knows_all(m) && become_late(m));

	ENGINE_LOCKED();
	if (!stays)
		epoll_member_to_kernel(m);
	epoll_wake(m->epoll, WAKE_CHANGE);
}
