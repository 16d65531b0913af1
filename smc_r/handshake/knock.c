/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* knock: a connection that begins without CLC messages. */
#include "smc_r/handshake/knock.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "smc_r/connection/buffer_limit.h"
#include "smc_r/connection/proposal.h"
#include "smc_r/connection/spin.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"

/* Most of them naps: a tenth of a second, as long as naps are. */
#define TAKING_LOOKS  2500
#define TAKING_YIELDS 1500
#define TAKING_NAP_NS 50000

/* ---- client ---- */

void knock_begin(struct connection *c, const struct knocks *k)
{
	c->knock.k = *k;
	c->knock.withdrawn = false;
	atomic_store(&c->knock.state, KNOCK_PENDING);
}

bool knock_is_pending(const struct connection *c)
{
	return atomic_load_explicit(&c->knock.state, memory_order_acquire) ==
	       KNOCK_PENDING;
}

/*
 * A thread that looks without the lock is counted, and then sees whether the
 * knock is still out; a thread that decides says so, and then sees whether any
 * is counted. So memory that a thread looks at is not given back, and cannot
 * go.
 */
static bool look_begin(struct connection *c)
{
	atomic_fetch_add(&c->knock.lookers, 1);
	return knock_is_pending(c);
}

/* struct connection; void, as a cleanup handler has it. */
static void look_end(void *c)
{
	struct connection *looked = c;

	atomic_fetch_sub(&looked->knock.lookers, 1);
}

/* WAITS: nobody has taken it. */
static enum knocking look(const struct connection *c)
{
	const struct knocks *k = &c->knock.k;
	enum knocking now = KNOCKING_WAITS;

	for (uint32_t i = 0; i < k->count && now == KNOCKING_WAITS; i++)
		now = linkgroup_knock_look(&k->at[i], k->token);
	return now;
}

static bool has_answer(const void *c)
{
	return look(c) != KNOCKING_WAITS;
}

static bool all_will_ring(const struct connection *c)
{
	const struct knocks *k = &c->knock.k;
	bool will = true;

	for (uint32_t i = 0; i < k->count && will; i++)
		will = linkgroup_knock_sleeps(&k->at[i], k->token);
	return will;
}

/* The ring stays in the bell, for what comes after it. */
static void sleep_for_answer(struct connection *c, uint64_t limit_ns)
{
	const struct timespec limit = sys_timespec(limit_ns);
	struct pollfd bells[OPTION_KNOCKS_MAX];
	uint32_t n = c->knock.k.count;

	for (uint32_t i = 0; i < n; i++)
		bells[i] = (struct pollfd){c->knock.k.at[i].bell, POLLIN, 0};
	inject_nap();
	if (!all_will_ring(c))
		return;
	inject_nap();
	real.ppoll(bells, n, &limit, NULL);
}

void knock_await(struct connection *c, uint64_t limit_ns)
{
	static uint32_t score;
	bool is_out = look_begin(c);

	pthread_cleanup_push(look_end, c);
	if (is_out && !has_answer(c) && !spin_for(&score, true, has_answer, c))
		sleep_for_answer(c, limit_ns);
	pthread_cleanup_pop(1);
}

bool knock_has_answer(struct connection *c)
{
	bool has;

	if (!knock_is_pending(c))
		return false;
	has = look_begin(c) && has_answer(c);
	look_end(c);
	return has;
}

bool knock_hear(struct connection *c)
{
	bool will;

	inject_nap();
	will = look_begin(c) && all_will_ring(c);
	look_end(c);
	return will;
}

/* Waits until the server that takes the element is done, in a moment. One that
 * was killed meanwhile has ended its connections, too. */
static void await_taking(const struct knocked *at, uint64_t token)
{
	for (int i = 0; i < TAKING_LOOKS &&
			linkgroup_knock_look(at, token) == KNOCKING_TAKING;
	     i++)
		i < TAKING_YIELDS ? (void)sched_yield()
				  : sys_nap(TAKING_NAP_NS);
}

/* The one that was not to be had any more, or -1. */
static int take_all_back(struct knocks *k)
{
	int taken = -1;

	for (uint32_t i = 0; i < k->count; i++) {
		if (linkgroup_knock_take_back(&k->at[i], k->token))
			continue;
		/* Only one has the socket: the others lie. */
		if (taken >= 0)
			k->at[i].rmb->leaked |= 1u << k->at[i].element;
		else
			taken = (int)i;
	}
	return taken;
}

static void enter(struct connection *c, int fd, struct knocked *at)
{
	struct rmb *rmb = at->rmb;

	await_taking(at, c->knock.k.token);
	connection_attach(c, rmb, at->element, SIDE_CLIENT);
	at->held = false;
	/* It is still on its way, or in the bell. */
	c->bell.drained_data -=
	    atomic_load(&c->own_wait->rings_data) - at->rings;
	proposal_remember_first(c, false);
	buffer_limit_tell(c, fd);
	clc_skip(connection_clc(c));
	linkgroup_knock_was_met(&c->knock.k, at);
	linkgroup_knock_learn(rmb->group, c->slot->peer_port);
	connection_use_smc(c);
}

/* True: it was taken, and the connection is active. */
static bool decide(struct connection *c, int fd)
{
	struct knocks *k = &c->knock.k;
	int taken;

	atomic_store(&c->knock.state, KNOCK_SETTLED);
	taken = take_all_back(k);
	if (c->epoll.members)
		connection_on_knock_settled(c, taken);
	c->knock.withdrawn = taken < 0;
	if (taken >= 0)
		enter(c, fd, &k->at[taken]);
	knock_tidy(c);
	return taken >= 0;
}

bool knock_was_taken(struct connection *c, int fd)
{
	return knock_is_pending(c) && has_answer(c) && decide(c, fd);
}

bool knock_take_back(struct connection *c, int fd)
{
	return !decide(c, fd);
}

void knock_tidy(struct connection *c)
{
	struct knocks *k = &c->knock.k;

	if (atomic_load(&c->knock.state) != KNOCK_SETTLED ||
	    atomic_load(&c->knock.lookers) > 0)
		return;
	for (struct knocked *at = k->at; at < k->at + k->count; at++)
		if (at->held)
			linkgroup_knock_give(at, true);
	atomic_store(&c->knock.state, KNOCK_NONE);
}

static bool knocked_at(const struct knocks *k, uint32_t group)
{
	for (uint32_t i = 0; i < k->count; i++)
		if (k->at[i].group == group)
			return true;
	return false;
}

void knock_learn(struct connection *c)
{
	const struct knocks *k = &c->knock.k;
	struct linkgroup *g = c->rmb->group;

	if (!g)
		return;
	if (c->knock.withdrawn && !knocked_at(k, g->number))
		for (uint32_t i = 0; i < k->count; i++)
			linkgroup_knock_was_vain(k->at[i].group);
	linkgroup_knock_learn(g, c->slot->peer_port);
}

/* ---- server ---- */

void knock_answer(struct connection *c, int fd,
		  const struct option_knock *knock)
{
	struct rmb *rmb;
	uint32_t element;
	bool asleep;

	if (!linkgroup_take_knocked(knock, &rmb, &element, &asleep))
		return;
	inject_nap();
	connection_attach(c, rmb, element, SIDE_SERVER);
	atomic_store(&c->control->confirmed, atomic_load(&c->control->epoch));
	proposal_remember_first(c, false);
	buffer_limit_tell(c, fd);
	clc_skip(connection_clc(c));
	segment_count(knocks);
	connection_use_smc(c);
	linkgroup_knock_answer(rmb, element, asleep);
}
