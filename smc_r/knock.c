/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* knock: a connection that begins without CLC messages. */
#include "knock.h"

#include <pthread.h>
#include <sched.h>

#include "allowance.h"
#include "inject.h"
#include "process.h"
#include "proposal.h"
#include "segment.h"
#include "spin.h"
#include "sys.h"

/* An acceptor that is not at work by then gets a Proposal, which it finds when
 * it is; so does one that is somebody else. */
#define AWAIT_MS 2

/* ---- client ---- */

void knock_begin(struct connection *c, struct rmb *rmb,
		 const struct option_knock *knock)
{
	c->knock.rmb = rmb;
	c->knock.at = rmb_element(&rmb->map, knock->element);
	c->knock.token = knock->token;
	c->knock.element = knock->element;
	c->knock.bell = rmb->bells[knock->element].data;
	c->knock.group = rmb->group->number;
	c->knock.sure = linkgroup_knock_is_sure(rmb->group) &&
			linkgroup_knock_meets_one(c->slot->peer_port);
	c->knock.unheard = false;
	atomic_store(&c->knock.state, KNOCK_OUT);
}

bool knock_is_out(const struct connection *c)
{
	return atomic_load_explicit(&c->knock.state, memory_order_acquire) ==
	       KNOCK_OUT;
}

static enum knocking look(const struct connection *c)
{
	return linkgroup_knock_look(c->knock.at, c->knock.token);
}

static bool spin_for_answer(const struct connection *c)
{
	static uint32_t score;
	struct spin s;

	if (!spin_begin(&s, &score, true, UINT64_MAX))
		return false;
	do {
		if (look(c) != KNOCKING_WAITS) {
			spin_hit(&score);
			return true;
		}
	} while (spin_step(&s));
	spin_missed(&score, sys_now_ns() - s.start_ns);
	return false;
}

/* struct connection; void, as a cleanup handler has it. */
static void sleep_end(void *c)
{
	struct connection *slept = c;

	sleepers_leave(place_for_data(slept));
	atomic_fetch_sub(&slept->knock.sleepers, 1);
}

/* Who takes it back meanwhile finds us counted, and leaves us the bell. */
static void sleep_for_answer(struct connection *c)
{
	const struct timespec limit = sys_timespec(AWAIT_MS * 1000000ull);

	atomic_fetch_add(&c->knock.sleepers, 1);
	sleepers_join(place_for_data(c));
	pthread_cleanup_push(sleep_end, c);
	inject_nap();
	if (knock_is_out(c) &&
	    linkgroup_knock_sleeps(c->knock.at, c->knock.token)) {
		c->knock.unheard = true;
		inject_nap();
		if (bell_wait_once(c->knock.bell, &limit) == BELL_RUNG)
			c->knock.unheard = false;
	}
	pthread_cleanup_pop(1);
}

void knock_await(struct connection *c)
{
	if (look(c) == KNOCKING_WAITS && !spin_for_answer(c))
		sleep_for_answer(c);
}

bool knock_has_answer(const struct connection *c)
{
	return knock_is_out(c) && look(c) != KNOCKING_WAITS;
}

/* The ring stays in the bell: whoever looks sees the word. */
bool knock_hear(struct connection *c)
{
	inject_nap();
	if (!linkgroup_knock_sleeps(c->knock.at, c->knock.token))
		return false;
	c->knock.unheard = true;
	return true;
}

/* Until the server, who is at it, is done. One that was killed meanwhile has
 * ended its connections, too. */
static void await_taking(const struct connection *c)
{
	uint64_t end = sys_now_ns() + 100 * 1000000ull;

	while (look(c) == KNOCKING_TAKING && sys_now_ns() < end)
		sched_yield();
}

static void enter(struct connection *c, int fd)
{
	struct rmb *rmb = c->knock.rmb;

	await_taking(c);
	atomic_store(&c->knock.state, KNOCK_NONE);
	c->knock.rmb = NULL;
	connection_attach(c, rmb, c->knock.element, SIDE_CLIENT);
	/* The ring is still on its way, or in the bell. */
	if (c->knock.unheard)
		c->drained_data--;
	proposal_remember_first(c, false);
	allowance_tell(c, fd);
	clc_skip(connection_clc(c));
	linkgroup_knock_was_met(rmb->group);
	linkgroup_knock_learn(rmb->group, c->slot->peer_port);
	connection_use_smc(c);
}

bool knock_was_taken(struct connection *c, int fd)
{
	if (!knock_is_out(c) || look(c) == KNOCKING_WAITS)
		return false;
	enter(c, fd);
	return true;
}

bool knock_take_back(struct connection *c, int fd)
{
	bool sleeps = atomic_load(&c->knock.sleepers) > 0;

	/* Before the look at who sleeps, and who sleeps looks after it. */
	atomic_store(&c->knock.state, KNOCK_OVER);
	sleeps = atomic_load(&c->knock.sleepers) > 0;
	if (!linkgroup_knock_take_back(c->knock.rmb, c->knock.element,
				       c->knock.token, sleeps)) {
		enter(c, fd);
		return false;
	}
	if (c->members)
		connection_on_knock_over(c);
	c->knocked = c->knock.group;
	if (!sleeps)
		atomic_store(&c->knock.state, KNOCK_NONE);
	return true;
}

void knock_tidy(struct connection *c)
{
	if (atomic_load(&c->knock.state) != KNOCK_OVER ||
	    atomic_load(&c->knock.sleepers) > 0)
		return;
	atomic_store(&c->knock.state, KNOCK_NONE);
	linkgroup_knock_give(c->knock.rmb, c->knock.element, true);
}

void knock_learn(struct connection *c)
{
	struct linkgroup *g = c->rmb->group;

	if (!g)
		return;
	if (c->knocked && c->knocked != g->number)
		linkgroup_knock_was_vain(c->knocked);
	linkgroup_knock_learn(g, c->slot->peer_port);
}

/* ---- server ---- */

bool knock_answer(struct connection *c, int fd,
		  const struct option_knock *knock)
{
	struct rmb *rmb;
	uint32_t element;
	bool asleep;

	if (!linkgroup_take_knocked(knock, &rmb, &element, &asleep))
		return false;
	inject_nap();
	connection_attach(c, rmb, element, SIDE_SERVER);
	atomic_store(&c->control->confirmed, atomic_load(&c->control->epoch));
	proposal_remember_first(c, false);
	allowance_tell(c, fd);
	clc_skip(connection_clc(c));
	segment_count(knocks);
	connection_use_smc(c);
	linkgroup_knock_answer(rmb, element, asleep);
	return true;
}
