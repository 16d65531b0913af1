/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_arm: what makes the members of an instance ring for it. */
#include "smc_r/epoll/epoll_arm.h"

#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_verdict.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/readiness.h"

#define RINGS_MAX   64u /* outstanding bytes in a bell before it is emptied */
#define ARMS_A_LOOK 32u /* so often a bell may have rung, unseen */

/* This thread has armed beside a writer, or a reader, that leaves its fence to
 * the end that sleeps. A handler on top of us that settles it does so for both,
 * as we look after it. */
static __thread bool unsettled;

static bool settle(void)
{
	if (!unsettled)
		return true;
	unsettled = false;
	return barrier_all();
}

/* ---- emptying ---- */

/* A thread that was killed may be counted for ever, but is not the first. */
static bool has_callers(const struct connection *c)
{
	atomic_thread_fence(memory_order_seq_cst);
	return sleepers_has_first(place_for_data(c)) ||
	       sleepers_has_first(place_for_room(c));
}

static void wake_callers(struct connection *c)
{
	atomic_thread_fence(memory_order_seq_cst);
	connection_wake_readers(c);
	connection_wake_writers(c);
}

/*
 * A bell must not fill up, as a ring that finds no place wakes nobody. The
 * rings of a thread that sleeps in a call on the connection are not ours: those
 * of one that comes later lie behind the bytes that were counted, unless
 * another thread has taken some of these; so it is rung for.
 */
static bool empty_bell(struct connection *c, int bell, uint32_t rings,
		       uint32_t *drained)
{
	int there;

	if (rings - *drained <= RINGS_MAX)
		return false;
	there = bell_rings(bell);
	inject_step(STEP_COUNTED);
	if (has_callers(c))
		return false;
	*drained = rings;
	bell_take(bell, there);
	inject_step(STEP_EMPTIED);
	wake_callers(c);
	return true;
}

static uint32_t rings_of_room_bell(const struct connection *c)
{
	return relaxed_load(&c->own_wait->rings_room);
}

static void empty_bells(const struct epoll_member *m)
{
	struct connection *c = m->connection;
	bool any = empty_bell(c, c->bells.data, rings_of_data_bell(c),
			      &c->bell.drained_data);

	if (m->hears_room && !bells_are_one(&c->bells))
		any |= empty_bell(c, c->bells.room, rings_of_room_bell(c),
				  &c->bell.drained_room);
	/* What was taken may have been for threads that sleep in any instance,
	 * or on it from outside: they look again, and so do we. */
	if (any)
		epoll_wake_members(c, AGAIN_NOTHING);
}

void epoll_note_rings(struct epoll_member *m)
{
	const struct connection *c = m->connection;
	uint32_t arms = relaxed_load(&m->epoll->arms);

	/* Nobody rings for a thread that is awake, except for what was armed
	 * for an earlier sleep. */
	if (!m->hears_room && arms - relaxed_load(&m->arms) < ARMS_A_LOOK)
		return;
	relaxed_store(&m->arms, arms);
	if (rings_of_data_bell(c) - c->bell.drained_data > RINGS_MAX ||
	    (m->hears_room &&
	     rings_of_room_bell(c) - c->bell.drained_room > RINGS_MAX))
		epoll_ready_fills(m);
}

/* ---- arming ---- */

/* This runs once for each member that ever waits. */
static void hear_room(struct epoll_member *m)
{
	engine_lock();
	if (atomic_load(&m->live))
		epoll_attach_room(m);
	engine_unlock();
}

/* Edge-triggered, a program waits for room only after a refusal, which may have
 * been told when nobody asked for room here yet. */
static void note_stall(struct epoll_member *m, uint32_t events)
{
	struct connection *c = m->connection;

	if (!m->hears_room && m->attached)
		hear_room(m);
	if (connection_phase(c) != PHASE_ACTIVE)
		return;
	if (!(events & EPOLLET))
		epoll_stalled(c);
	else if (relaxed_load(&c->stall.full_ns) && !stream_knows_room(c))
		atomic_store(&m->epoll->stalled, 1);
}

void epoll_arm_room(struct epoll_member *m, uint32_t events)
{
	struct connection *c = m->connection;

	note_stall(m, events);
	if (atomic_exchange(&c->own_wait->armed_room, RMB_ARMED) != RMB_ARMED)
		unsettled |= connection_reader_is_unfenced(c);
}

/* Where the bell cannot be heard, nothing is to be waited for. */
static void hear_knock(struct epoll_member *m)
{
	struct connection *c = m->connection;

	if (!m->hears_knock) {
		engine_lock();
		if (atomic_load(&m->live))
			epoll_attach_knock(m);
		if (!m->hears_knock)
			handshake_step_locked(c, m->fd);
		engine_unlock();
	}
	if (m->hears_knock)
		knock_hear(c);
}

/* All connections of an RMB have one word for an instance. */
static void arm_word(_Atomic uint32_t *armed)
{
	if (relaxed_load(armed) != RMB_ARMED)
		atomic_store(armed, RMB_ARMED);
}

static void arm_member(struct epoll_member *m)
{
	struct connection *c = m->connection;
	uint32_t events = atomic_load(&m->events);

	if (__builtin_expect(knock_is_pending(c), 0))
		hear_knock(m);
	if (connection_phase(c) != PHASE_ACTIVE || !m->attached)
		return;
	empty_bells(m);
	if (m->shared) {
		unsettled |= readiness_arm(c, events);
	} else {
		arm_word(&c->own_waiters->armed[m->epoll->waiter]);
		if (events & EPOLL_OUTPUT)
			atomic_store(&c->own_wait->armed_room, RMB_ARMED);
	}
	if ((events & EPOLL_OUTPUT) && !stream_knows_room(c)) {
		unsettled |= connection_reader_is_unfenced(c);
		note_stall(m, events);
	}
}

static void arm_group(struct epoll *e, struct epoll_group *g)
{
	uint32_t full = relaxed_load(&g->full);

	if (__builtin_expect(full != 0, 0))
		full = atomic_exchange(&g->full, 0);
	for (; full; full &= full - 1) {
		struct epoll_member *m =
		    atomic_load(&g->members[__builtin_ctz(full)]);

		if (m && atomic_load(&m->live) && m->attached)
			empty_bells(m);
	}
	arm_word(&g->waiters->armed[e->waiter]);
}

/* epoll_ready_any() calls it for each member; none is what it looks for. */
static bool arm_marked(struct epoll_member *m)
{
	arm_member(m);
	return false;
}

static void arm_each(struct epoll *e)
{
	uint32_t count = epoll_awake(e);

	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && !(e->uses_bits && m->group))
			arm_member(m);
	}
}

struct epoll_armed epoll_arm(struct epoll *e, bool others)
{
	struct epoll_armed armed = {.sure = !e->unsure};

	relaxed_add(&e->arms, 1);
	if (e->uses_bits)
		epoll_ready_groups(e, arm_group);
	if (e->uses_bits && (others || e->is_polled))
		epoll_ready_any(e, arm_marked);
	if (!e->uses_bits || epoll_has_others(e))
		arm_each(e);
	atomic_thread_fence(memory_order_seq_cst);
	armed.sure &= settle();
	inject_step(STEP_ARMED);
	return armed;
}

bool epoll_arm_again(struct epoll_armed *armed)
{
	if (!unsettled)
		return false;
	armed->sure &= settle();
	return true;
}
