/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_wait: who is ready, and sleeping until somebody is. */
#include "epoll_set.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>

#include "bell.h"
#include "epoll_common.h"
#include "epoll_edge.h"
#include "epoll_nested.h"
#include "epoll_order.h"
#include "epoll_ready.h"
#include "epoll_shadow.h"
#include "handshake.h"
#include "inject.h"
#include "process.h"
#include "readiness.h"
#include "real.h"
#include "segment.h"
#include "spin.h"
#include "stall.h"
#include "stream.h"
#include "sys.h"
#include "talk.h"
#include "wait.h"

#define ASK_EVERY   16u    /* calls between questions to the kernel */
#define ASK_NS      50000u /* time between them */
#define SPIN_ASK_NS 5000u  /* of a spin */
#define STORE_TICKS 4096u  /* sys_ticks until all see what one stored */
#define RINGS_MAX   64u /* outstanding bytes in a bell before it is emptied */

/* ---- one member ---- */

/* The events to report, 0 for none. */
static uint32_t evaluate(struct epoll_member *m)
{
	uint32_t events =
	    atomic_load_explicit(&m->events, memory_order_relaxed);
	uint32_t one = 1;
	uint32_t bits;
	bool early;

	struct epoll_marks now = {0, 0};

	if (!atomic_load_explicit(&m->enabled, memory_order_relaxed) ||
	    atomic_load_explicit(&m->late, memory_order_relaxed))
		return 0;
	do {
		early = (events & EPOLLET) &&
			connection_phase(m->connection) < PHASE_ACTIVE;
		if (events & EPOLLET)
			now = epoll_marks(m);
		bits = readiness(m->connection, m->fd, events) &
		       (events | EPOLL_ALWAYS);
		/* This very look may have made it active: it had no marks. */
	} while (early && connection_phase(m->connection) == PHASE_ACTIVE);
	/* Only what reaches the phase by itself tells that it is TCP now, and
	 * then the kernel reports it. */
	if (connection_phase(m->connection) == PHASE_NATIVE)
		return 0;
	if ((events & EPOLLET) && !epoll_takes_edge(m, &now, bits))
		return 0;
	if (bits == 0)
		return 0;
	if ((events & EPOLLONESHOT) &&
	    !atomic_compare_exchange_strong(&m->enabled, &one, 0))
		return 0;
	return bits;
}

static bool needs_move(const struct epoll_member *m)
{
	return !m->attached || connection_phase(m->connection) == PHASE_NATIVE;
}

/* The connection became active, or plain TCP, since it was registered. */
static bool follow_phase(struct epoll_member *m)
{
	uint32_t phase = connection_phase(m->connection);
	sigset_t saved;

	if (phase == PHASE_NATIVE &&
	    (atomic_load(&m->late) || !atomic_load(&m->enabled)))
		return false;
	if (phase == PHASE_NATIVE || (phase == PHASE_ACTIVE && !m->attached)) {
		engine_lock(&saved);
		if (atomic_load(&m->live) && phase == PHASE_NATIVE)
			epoll_member_leave(m);
		else if (atomic_load(&m->live))
			epoll_member_attach(m);
		engine_unlock(&saved);
	}
	return phase != PHASE_NATIVE;
}

/* ---- all members ---- */

/* A bell is never emptied on the way; but it must not fill up either. The
 * rings of who begins to sleep in a call on the connection are not ours: they
 * come behind those that are there before we see nobody asleep. */
static void empty_bell(struct connection *c)
{
	uint32_t rings = atomic_load_explicit(&c->own_wait->rings_data,
					      memory_order_relaxed);
	int there;

	if (rings - c->drained_data <= RINGS_MAX)
		return;
	there = bell_rings(c->bell_in);
	inject_nap();
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&c->slot->rx.sleepers) > 0)
		return;
	c->drained_data = rings;
	bell_take(c->bell_in, there);
}

struct scan {
	struct epoll_event *events;
	int max;
	int n;
	uint64_t begun;                              /* sys_ticks */
	struct epoll_member *found[EPOLL_ORDER_MAX]; /* the first of n */
};

/* Adds the member's events, if any. */
static uint32_t add_events(struct scan *s, struct epoll_member *m)
{
	uint64_t data = m->data;
	uint32_t bits = evaluate(m);

	if (__builtin_expect(needs_move(m), 0) && !follow_phase(m))
		return 0;
	if (!bits)
		return 0;
	s->events[s->n].events = bits;
	s->events[s->n].data.u64 = data;
	if (s->n < EPOLL_ORDER_MAX)
		s->found[s->n] = m;
	s->n++;
	return bits;
}

/*
 * A member that became ready behind our back, before one that was found further
 * on: it was looked at too early. Of those that are there by now the older ones
 * come along.
 */
static void scan_again(struct epoll *e, struct scan *s)
{
	int n = s->n;
	uint64_t newest = epoll_order_newest(s->found, n);
	uint32_t count = atomic_load(&e->count);

	/* A clock is read before the stores in front of it are seen. */
	if (newest + STORE_TICKS < s->begun)
		return;
	for (uint32_t i = 0; i < count && s->n < s->max; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && epoll_order_is_missed(m, newest, s->found, n))
			add_events(s, m);
	}
}

static void scan_table(struct epoll *e, struct scan *s, bool all)
{
	uint32_t count = atomic_load(&e->count);
	uint32_t start = count ? atomic_load(&e->turn) % count : 0;

	for (uint32_t i = 0; i < count && s->n < s->max; i++) {
		uint32_t at = (start + i) % count;
		struct epoll_member *m = epoll_member_at(e, at);

		if (!m || (!all && m->group))
			continue;
		if (add_events(s, m) && s->n == s->max)
			atomic_store(&e->turn, at + 1);
	}
}

/* Edge-triggered, a program waits for room only after a refusal. */
static void note_stall(struct epoll_member *m, uint32_t events)
{
	if (!(events & EPOLLET) &&
	    connection_phase(m->connection) == PHASE_ACTIVE)
		epoll_stalled(m->connection);
}

/* For epoll_ready_each. A member that waits for room says so here, as nobody
 * goes through all of them before a sleep. */
static bool look_one(struct epoll_member *m, bool *again, void *owner)
{
	struct connection *c = m->connection;
	uint32_t events = atomic_load(&m->events);
	struct scan *s = owner;
	uint32_t bits;

	if (s->n == s->max) {
		*again = true;
		return false;
	}
	empty_bell(c);
	bits = add_events(s, m);
	if (!(bits & EPOLL_OUTPUT) && (events & EPOLL_OUTPUT) && m->attached) {
		note_stall(m, events);
		atomic_store(&c->own_wait->armed_room, RMB_ARMED);
		if (!bits)
			bits = add_events(s, m);
	}
	if (bits)
		epoll_ready_found(m);
	*again = bits && !(events & EPOLLET);
	return true;
}

static int scan(struct epoll *e, struct epoll_event *events, int max)
{
	bool several = atomic_load(&e->count) > 1;
	struct scan s;

	s.events = events;
	s.max = max;
	s.n = 0;
	s.begun = several ? sys_ticks() : 0;
	if (e->uses_bits)
		epoll_ready_each(e, look_one, &s);
	if (!e->uses_bits || epoll_has_others(e))
		scan_table(e, &s, !e->uses_bits);
	if (several && !e->uses_bits && s.n > 0 && s.n < EPOLL_ORDER_MAX)
		scan_again(e, &s);
	if (s.n > 1 && s.n <= EPOLL_ORDER_MAX)
		epoll_order_sort(s.found, events, s.n);
	return s.n;
}

/* True: the writer leaves the fence to us. */
static bool arm_member(struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint32_t events = atomic_load(&m->events);
	_Atomic uint32_t *armed;
	bool unfenced = false;

	if (connection_phase(c) != PHASE_ACTIVE || !m->attached)
		return false;
	if (m->shared) {
		unfenced = readiness_arm(c, events);
	} else {
		armed = &c->own_waiters->armed[m->epoll->waiter];
		if (atomic_load_explicit(armed, memory_order_relaxed) !=
		    RMB_ARMED)
			atomic_store(armed, RMB_ARMED);
		if (events & EPOLL_OUTPUT)
			atomic_store(&c->own_wait->armed_room, RMB_ARMED);
	}
	if ((events & EPOLL_OUTPUT) && !stream_knows_room(c))
		note_stall(m, events);
	empty_bell(c);
	return unfenced;
}

static void arm(struct epoll *e)
{
	uint32_t count = atomic_load(&e->count);
	bool unfenced = false;

	if (e->uses_bits)
		epoll_ready_arm(e);
	for (uint32_t i = 0;
	     i < count && (!e->uses_bits || epoll_has_others(e)); i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && !(e->uses_bits && m->group))
			unfenced |= arm_member(m);
	}
	for (int i = 0; e->nested_count && i < EPOLL_NESTED_MAX; i++)
		if (e->nested[i].inner && e->nested[i].ours)
			arm(e->nested[i].inner);
	atomic_thread_fence(memory_order_seq_cst);
	if (unfenced)
		barrier_all();
}

/* ---- the kernel's events ---- */

static void note_sign(struct epoll *e, uint64_t data)
{
	if (data == (e->cookie | EPOLL_RUNG)) {
		e->rung = true;
		return;
	}
	e->unharvested = true;
	epoll_nested_woken(e, data);
}

/* Is there anything in the shadows that no cursor shows? */
static bool must_harvest(const struct epoll *e)
{
	return e->unharvested || (e->rung && e->uses_bits);
}

/* Takes our own cookies out of what the kernel returned. */
static int filter(struct epoll *e, struct epoll_event *events, int n,
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
		kept = n > 0 ? filter(e, events, n, &woken) : 0;
	} while (kept == 0 && n == max && --tries > 0);
	return kept;
}

static int ask_kernel(struct epoll *e, struct epoll_event *events, int max)
{
	int n = ask_now(e, events, max);

	atomic_store(&e->asked_ns, sys_now_ns());
	if (!must_harvest(e))
		return n;
	e->moved = false;
	epoll_harvest(e);
	/* What is the kernel's since then it was not asked about. */
	return e->moved && n < max ? n + ask_now(e, events + n, max - n) : n;
}

/* Descriptors of the kernel must not starve beside ready members, nor behind
 * them when the program's array is short. */
static bool kernel_is_due(struct epoll *e)
{
	return atomic_fetch_add_explicit(&e->calls, 1, memory_order_relaxed) %
		       ASK_EVERY ==
		   0 ||
	       sys_now_ns() - atomic_load(&e->asked_ns) >= ASK_NS;
}

/* One look at both, without waiting. */
static int look(struct epoll *e, struct epoll_event *events, int max)
{
	int n = e->nested_count ? epoll_nested_scan(e, events, max) : 0;
	int scanned = n < max ? scan(e, events + n, max - n) : 0;

	return n + scanned;
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
		epoll_harvest(e);
	n = first ? look(e, events, max) : ask_kernel(e, events, max);
	if (n == max) {
		e->filled = first;
		return n;
	}
	return n + (first ? ask_kernel(e, events + n, max - n)
			  : look(e, events + n, max - n));
}

/* n members are ready. */
static int ask_beside(struct epoll *e, struct epoll_event *events, int n,
		      int max)
{
	e->filled = n == max;
	if (e->shadow >= 0)
		epoll_harvest(e);
	return n < max ? n + ask_kernel(e, events + n, max - n) : n;
}

/* Where nobody is ready the wait that follows asks the kernel, as it sleeps in
 * it; unless that had something to tell the last time. *asked: or it was. */
static int first_look(struct epoll *e, struct epoll_event *events, int max,
		      bool only_looks, bool *asked)
{
	bool due = kernel_is_due(e);
	int n;

	*asked = only_looks || due;
	if (only_looks || (due && (e->filled || e->told)))
		return look_with_kernel(e, events, max);
	n = look(e, events, max);
	return n > 0 && due ? ask_beside(e, events, n, max) : n;
}

/* ---- waiting ---- */

struct wait_until {
	bool for_ever;
	uint64_t end_ns;
};

/* *shares: one of them is where we are. */
static bool may_spin(struct epoll *e, bool *shares)
{
	uint32_t count = atomic_load(&e->count);
	bool any = false;

	*shares = false;
	for (uint32_t i = 0; i < count && i < 4; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (!m || atomic_load(&m->late))
			continue;
		any = true;
		if (connection_phase(m->connection) == PHASE_ACTIVE &&
		    peer_is_on_our_core(m->connection))
			*shares = true;
	}
	return any;
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
			n = look(e, events, max);
			if (n > 0) {
				spin_hit(&e->spin_score);
				return n;
			}
		}
		if (s->spent_ns - asked < SPIN_ASK_NS)
			continue;
		asked = s->spent_ns;
		n = ask_kernel(e, events, max);
		if (n > 0) {
			s->start_ns = 0;
			return n;
		}
	} while (spin_step(s));
	return 0;
}

/* In which m changes by the clock, or -1. */
static int member_ms(struct epoll_member *m)
{
	int left = -1;

	if (connection_phase(m->connection) == PHASE_HANDSHAKE) {
		left = handshake_left_ms(m->connection);
		return left > 0 ? left : -1;
	}
	if (!atomic_load(&m->enabled) ||
	    !(atomic_load(&m->events) & EPOLL_OUTPUT))
		return -1;
	left = stall_left_ms(m->connection);
	if (left >= 0)
		atomic_store(&m->epoll->stalled, 1);
	if (left == 0)
		epoll_ready_mark(m);
	return left;
}

/* A member whose handshake is not over changes by the clock as well, and so
 * does one that waits for room. */
static int pending_ms(struct epoll *e)
{
	uint32_t count = atomic_load(&e->count);
	int least = -1;

	if (!atomic_exchange(&e->stalled, 0) && e->uses_bits &&
	    !epoll_has_others(e))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);
		int left = m ? member_ms(m) : -1;

		if (left >= 0 && (least < 0 || left < least))
			least = left;
	}
	return least;
}

/* The time is over. */
static void tell_overdue(struct epoll *e)
{
	uint32_t count = atomic_load(&e->count);

	if (e->uses_bits && !epoll_has_others(e))
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && atomic_load(&m->enabled) &&
		    (atomic_load(&m->events) & EPOLL_OUTPUT))
			handshake_tells_output(m->connection);
	}
}

static struct timespec left_of(const struct wait_until *u, int pending)
{
	uint64_t now = sys_now_ns();
	uint64_t left = u->for_ever       ? UINT64_MAX
			: now < u->end_ns ? u->end_ns - now
					  : 0;
	struct timespec t;

	if (pending >= 0 && left > (uint64_t)pending * 1000000u)
		left = (uint64_t)pending * 1000000u;
	if (left == UINT64_MAX)
		left = 3600ull * 1000000000u;
	t.tv_sec = (time_t)(left / 1000000000u);
	t.tv_nsec = (long)(left % 1000000000u);
	return t;
}

static int sleep_in_kernel(struct epoll *e, struct epoll_event *events, int max,
			   const struct timespec *t, const sigset_t *mask)
{
	int ms = (int)(t->tv_sec * 1000 + (t->tv_nsec + 999999) / 1000000);
	volatile int n;

	segment_count(sleeps);
	pthread_cleanup_push(epoll_leave_sleep, e->common);
	n = real.epoll_pwait(e->fd, events, max, ms, mask);
	pthread_cleanup_pop(0);
	return n;
}

/* One round: events, 0 to go on, EPOLL_CHANGED, or -1 with errno. */
static int sleep_round(struct epoll *e, struct epoll_event *events, int max,
		       const struct wait_until *until, const sigset_t *mask)
{
	uint32_t version = atomic_load(&e->version);
	struct timespec t;
	bool woken = false;
	int n;

	if (!epoll_begin_sleep(e))
		return EPOLL_CHANGED;
	/* What woke us last time may have been the end of a peer as well. Not
	 * after arming: a ring that is taken then would wake nobody. */
	if (must_harvest(e))
		epoll_harvest(e);
	inject_nap();
	arm(e);
	inject_nap();
	n = look(e, events, max);
	if (n == 0 && version == atomic_load(&e->version)) {
		t = left_of(until, pending_ms(e));
		inject_nap();
		n = sleep_in_kernel(e, events, max, &t, mask);
		atomic_store(&e->asked_ns, sys_now_ns());
	}
	if (n > 0)
		n = filter(e, events, n, &woken);
	if (!epoll_end_sleep(e) && n == 0)
		return EPOLL_CHANGED;
	return n || !woken ? n : look(e, events, max);
}

/* ---- connections to ourselves ---- */

static bool waits_for_output(struct epoll_member *m)
{
	return m && atomic_load(&m->enabled) &&
	       (atomic_load(&m->events) & EPOLL_OUTPUT);
}

/* On TCP a connection to ourselves can be written to with the very wait that
 * tells of it at the listener, which became ready first. */
static int tell_first(struct epoll *e, struct epoll_event *events, int n,
		      int max)
{
	uint32_t count = atomic_load(&e->count);
	struct scan s = {.events = events, .max = max, .n = n};

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (!waits_for_output(m) ||
		    !handshake_tells_first(m->connection))
			continue;
		add_events(&s, m);
		break;
	}
	return s.n;
}

static bool has_own(struct epoll *e)
{
	uint32_t count = atomic_load(&e->count);

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (waits_for_output(m) && handshake_is_own(m->connection))
			return true;
	}
	return false;
}

static bool tell_alone(struct epoll *e, bool only_looks)
{
	uint32_t count = atomic_load(&e->count);
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (waits_for_output(m))
			any |= handshake_tells_alone(m->connection, only_looks);
	}
	return any;
}

/* No member is ready, and those to ourselves only hide from the rest. */
static int look_alone(struct epoll *e, struct epoll_event *events, int max,
		      bool only_looks)
{
	int n;

	if (connections_starting() == 0 || !has_own(e))
		return 0;
	n = ask_kernel(e, events, max);
	return n == 0 && tell_alone(e, only_looks) ? look(e, events, max) : n;
}

static int wait_rounds(struct epoll *e, struct epoll_event *events, int max,
		       struct wait_until *until, const sigset_t *mask)
{
	struct spin s = {.start_ns = 0};
	int n;

	talk_end();
	n = look_alone(e, events, max, false);
	if (n == 0)
		n = spin(e, events, max, until, &s);
	if (n > 0)
		return n;
	for (;;) {
		n = sleep_round(e, events, max, until, mask);
		if (n != 0 && s.start_ns)
			spin_missed(&e->spin_score, sys_now_ns() - s.start_ns);
		if (n != 0)
			return n;
		if (!until->for_ever && sys_now_ns() >= until->end_ns)
			break;
	}
	tell_overdue(e);
	return look(e, events, max);
}

/* *took: the kernel's signs may have come to us. */
static int wait_members(struct epoll *e, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask,
			bool *took)
{
	struct wait_until until = {.for_ever = timeout == NULL};
	bool only_looks =
	    timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
	int n = first_look(e, events, max, only_looks, took);

	*took |= n == 0;
	/* What the kernel told may be news of a member. */
	if (n == 0 && only_looks) {
		e->moved = false;
		n = look(e, events, max);
		if (n == 0 && e->moved)
			n = ask_kernel(e, events, max);
		if (n == 0)
			n = look_alone(e, events, max, true);
	} else if (n == 0) {
		if (timeout)
			until.end_ns = sys_now_ns() +
				       (uint64_t)timeout->tv_sec * 1000000000u +
				       (uint64_t)timeout->tv_nsec;
		n = wait_rounds(e, events, max, &until, mask);
	}
	return n;
}

/* Of threads that share an instance a ring wakes one: it disarms all members,
 * and the kernel's sign of it goes to the first that looks. Who may have taken
 * it lets them ring again for those that sleep on, and wakes one if there is
 * more to tell, as the kernel does. */
void epoll_pass_on(struct epoll *e)
{
	int error = errno;

	if (atomic_load(&e->common->sleepers) == 0 || e->shadow < 0 ||
	    epoll_is_anothers(e))
		return;
	inject_nap();
	arm(e);
	inject_nap();
	if (epoll_members_ready(e) || pending_ms(e) >= 0)
		epoll_wake(e);
	errno = error;
}

int epoll_wait_members(struct epoll *e, struct epoll_event *events, int max,
		       const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t asked = atomic_load(&e->asked_ns);
	bool took;
	int n = wait_members(e, events, max, timeout, mask, &took);

	/* Of a listener in E the kernel must have been asked first. */
	if (n > 0 && n < max && connections_starting() == 1 &&
	    atomic_load(&e->asked_ns) != asked)
		n = tell_first(e, events, n, max);
	if (took && n != EPOLL_CHANGED)
		epoll_pass_on(e);
	/* Somebody may wait on E itself: bells must ring while nobody scans. */
	if (e->is_nested)
		arm(e);
	return n;
}

/* To the nanosecond only where a program asks for it: older kernels have no
 * such call. */
static int kernel_waits(const struct epoll *e, struct epoll_event *events,
			int max, const struct timespec *t, const sigset_t *mask)
{
	if (!t)
		return real.epoll_pwait(e->fd, events, max, -1, mask);
	if (t->tv_nsec % 1000000 || t->tv_sec > INT_MAX / 1000 - 1)
		return real.epoll_pwait2(e->fd, events, max, t, mask);
	return real.epoll_pwait(e->fd, events, max,
				(int)(t->tv_sec * 1000 + t->tv_nsec / 1000000),
				mask);
}

static int wait_in_kernel(const struct epoll *e, struct epoll_event *events,
			  int max, const struct timespec *t,
			  const sigset_t *mask)
{
	volatile int n;

	pthread_cleanup_push(epoll_leave_sleep, e->common);
	n = kernel_waits(e, events, max, t, mask);
	pthread_cleanup_pop(0);
	return n;
}

int epoll_wait_plain(struct epoll *e, struct epoll_event *events, int max,
		     const struct timespec *timeout, const sigset_t *mask)
{
	bool woken = false;
	int n;

	if (!epoll_begin_sleep(e))
		return EPOLL_CHANGED;
	/* From here on who adds a member wakes us. */
	n = epoll_has_members(e)
		? EPOLL_CHANGED
		: wait_in_kernel(e, events, max, timeout, mask);
	if (n > 0 && epoll_has_cookies(e))
		n = filter(e, events, n, &woken);
	epoll_end_sleep(e);
	if (n > 0 && woken)
		epoll_pass_on(e);
	return n == 0 && woken ? EPOLL_CHANGED : n;
}

void epoll_arm(struct epoll *e)
{
	arm(e);
}
