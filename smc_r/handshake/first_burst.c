/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* talk: what a client has to say first is heard in one piece. */
#include "smc_r/handshake/first_burst.h"

#include "smc_r/connection/spin.h"
#include "smc_r/os/process.h"

#define SCORE_MOST 51 /* a spin is never longer */

static __thread struct connection *talker;

void talk_begin(struct connection *c)
{
	talk_end();
	if (c->slot->role != STATUS_CLIENT)
		return;
	c->talks = true;
	talker = c;
}

void talk_announce(struct connection *c)
{
	if (!c->talks)
		return;
	peer_is_on_our_core(c);
	atomic_store(&c->control->talks, atomic_load(&c->control->epoch));
}

void talk_end(void)
{
	struct connection *c = talker;

	if (__builtin_expect(!c, 1))
		return;
	talker = NULL;
	if (c->talks && connection_phase(c) == PHASE_ACTIVE && c->rmb)
		atomic_store(&c->control->talks, 0);
	c->talks = false;
}

static bool is_talking(const struct connection *c)
{
	return atomic_load_explicit(&c->control->talks, memory_order_acquire) ==
	       atomic_load(&c->control->epoch);
}

void talk_await(struct connection *c)
{
	uint32_t score = SCORE_MOST;
	struct spin s;

	/* Its thread may need what we hold. */
	if (!is_talking(c) || c->slot->peer_pid == process.pid)
		return;
	if (!spin_begin(&s, &score, peer_is_on_our_core(c), UINT64_MAX))
		return;
	while (is_talking(c) && spin_step(&s))
		;
}
