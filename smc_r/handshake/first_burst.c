/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* first_burst: what a client has to say first is heard in one piece. */
#include "smc_r/handshake/first_burst.h"

#include "smc_r/connection/spin.h"
#include "smc_r/os/process.h"

#define SCORE_MOST 51 /* a spin is never longer */

static __thread struct connection *burst_of;

void first_burst_begin(struct connection *c)
{
	first_burst_end();
	if (c->slot->role != STATUS_CLIENT)
		return;
	c->opening.in_first_burst = true;
	burst_of = c;
}

void first_burst_announce(struct connection *c)
{
	if (!c->opening.in_first_burst)
		return;
	peer_is_on_our_core(c);
	atomic_store(&c->control->first_burst, atomic_load(&c->control->epoch));
}

void first_burst_end(void)
{
	struct connection *c = burst_of;

	if (__builtin_expect(!c, 1))
		return;
	burst_of = NULL;
	if (c->opening.in_first_burst && connection_phase(c) == PHASE_ACTIVE &&
	    c->rmb)
		atomic_store(&c->control->first_burst, 0);
	c->opening.in_first_burst = false;
}

static bool is_in_first_burst(const struct connection *c)
{
	return atomic_load_explicit(&c->control->first_burst,
				    memory_order_acquire) ==
	       atomic_load(&c->control->epoch);
}

void first_burst_await(struct connection *c)
{
	uint32_t score = SCORE_MOST;
	struct spin s;

	/* Its thread may need what we hold. */
	if (!is_in_first_burst(c) || c->slot->peer_pid == process.pid)
		return;
	if (!spin_begin(&s, &score, peer_is_on_our_core(c), UINT64_MAX))
		return;
	while (is_in_first_burst(c) && spin_step(&s))
		;
}
