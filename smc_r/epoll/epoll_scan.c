/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_scan: which members are ready. */
#include "smc_r/epoll/epoll_scan.h"

#include "smc_r/epoll/epoll_arm.h"
#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_judge.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_order.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"

#define STORE_TICKS 4096u /* sys_ticks until all see what one stored */

struct scan {
	struct epoll_event *events;
	int max;
	int n;
	struct epoll_look look;
	uint64_t begun;                              /* sys_ticks */
	struct epoll_member *found[EPOLL_ORDER_MAX]; /* the first of n */
};

/* ---- one member ---- */

static bool needs_move(const struct epoll_member *m)
{
	return !m->attached || connection_phase(m->connection) == PHASE_NATIVE;
}

/* The connection became active, or plain TCP, since it was registered. */
static bool follow_phase(struct epoll_member *m)
{
	uint32_t phase = connection_phase(m->connection);

	if (phase == PHASE_NATIVE &&
	    (atomic_load(&m->late) || !atomic_load(&m->enabled)))
		return false;
	if (phase == PHASE_NATIVE || (phase == PHASE_ACTIVE && !m->attached)) {
		engine_lock();
		if (atomic_load(&m->live) && phase == PHASE_NATIVE)
			epoll_member_leave(m);
		else if (atomic_load(&m->live))
			epoll_member_attach(m);
		engine_unlock();
	}
	return phase != PHASE_NATIVE;
}

/* ---- all members ---- */

/* Adds the member's events, if any. */
static uint32_t add_events(struct scan *s, struct epoll_member *m)
{
	uint64_t data = m->data;
	uint32_t bits = epoll_judge(m, &s->look);

	if (__builtin_expect(needs_move(m), 0) && !follow_phase(m))
		return 0;
	if (!bits)
		return 0;
	INVARIANT("E1", s->n < s->max);
	INVARIANT("E2", !(bits & ~(atomic_load(&m->events) | EPOLL_ALWAYS)));
	s->events[s->n].events = bits;
	s->events[s->n].data.u64 = data;
	if (s->n < EPOLL_ORDER_MAX)
		s->found[s->n] = m;
	s->n++;
	return bits;
}

/* Adds members that became ready behind our back, before one that was found
 * further on: they were looked at too early. */
static void scan_again(struct epoll *e, struct scan *s)
{
	int n = s->n;
	uint64_t newest = epoll_order_newest(s->found, n);
	uint32_t count = epoll_awake(e);

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
	uint32_t count = epoll_awake(e);
	uint32_t start = count ? atomic_load(&e->turn) % count : 0;

	for (uint32_t i = 0; i < count && s->n < s->max; i++) {
		uint32_t at = (start + i) % count;
		struct epoll_member *m = epoll_member_at(e, at);

		if (!m || (!all && m->group))
			continue;
		if (!add_events(s, m))
			continue;
		if (!all)
			relaxed_store(&m->told_at, s->begun);
		if (s->n == s->max)
			atomic_store(&e->turn, at + 1);
	}
}

/* For epoll_ready_each. A member that waits for room says so here, as nobody
 * goes through all of them before a sleep. */
static bool look_one(struct epoll_member *m, bool *again, void *owner)
{
	uint32_t events = atomic_load(&m->events);
	struct scan *s = owner;
	uint32_t bits;

	if (s->n == s->max) {
		*again = true;
		return false;
	}
	/* It was told in this look already, when it had no bit. */
	if (relaxed_load(&m->told_at) == s->begun) {
		*again = true;
		return true;
	}
	epoll_note_rings(m);
	bits = add_events(s, m);
	if (!(bits & EPOLL_OUTPUT) && (events & EPOLL_OUTPUT) && m->attached) {
		epoll_arm_room(m, events);
		if (!bits)
			bits = add_events(s, m);
	}
	if (bits)
		epoll_ready_found(m);
	*again = bits;
	return true;
}

/* Those without a bit must not starve behind the others, nor they behind them,
 * where either fill the program's array. */
static void scan_crowd(struct epoll *e, struct scan *s)
{
	bool others = epoll_has_others(e);
	bool first = others && atomic_fetch_xor(&e->others_first, 1);

	if (first)
		scan_table(e, s, false);
	epoll_ready_each(e, look_one, s);
	if (others && !first)
		scan_table(e, s, false);
}

int epoll_scan(struct epoll *e, struct epoll_event *events, int max)
{
	bool several = epoll_awake(e) > 1;
	struct scan s;

	s.events = events;
	s.max = max;
	s.n = 0;
	s.begun = several || e->uses_bits ? sys_ticks() : 0;
	s.look = (struct epoll_look){.takes = true};
	if (e->uses_bits)
		scan_crowd(e, &s);
	else
		scan_table(e, &s, true);
	if (__builtin_expect(s.look.quiet > REST_MIN, 0))
		epoll_rest(e);
	if (several && !e->uses_bits && s.n > 0 && s.n < EPOLL_ORDER_MAX)
		scan_again(e, &s);
	if (s.n > 1 && s.n <= EPOLL_ORDER_MAX)
		epoll_order_sort(s.found, events, s.n);
	if (__builtin_expect(e->middle != 0, 0))
		e->early = s.n <= EPOLL_ORDER_MAX
			       ? epoll_order_until(s.found, s.n, e->middle)
			       : (uint32_t)s.n;
	return s.n;
}

int epoll_scan_one(struct epoll_member *m, struct epoll_event *event)
{
	struct scan s = {.events = event, .max = 1, .look = {.takes = true}};

	add_events(&s, m);
	return s.n;
}

bool epoll_tell_hidden(struct epoll *e, bool (*tells)(struct connection *c))
{
	uint32_t count = epoll_awake(e);
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		any |= epoll_waits_for_output(m) && tells(m->connection);
	}
	for (uint32_t i = 0; any && i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && connection_phase(m->connection) == PHASE_HANDSHAKE)
			epoll_member_news(m);
	}
	return any;
}

void epoll_follow(struct epoll *e)
{
	bool all = !e->uses_bits || epoll_has_others(e);
	uint32_t count = all ? epoll_awake(e) : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && needs_move(m))
			follow_phase(m);
	}
}
