/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* annex: the second ring of a direction, for a writer whose reader is late. */
#include "smc_r/stream/overflow.h"

#include "smc_r/link/shm/overflow_memory.h"
#include "smc_r/os/process.h"
#include "smc_r/stream/stream.h"

/* The program may have made its buffers small. */
static bool is_wanted(const struct connection *c)
{
	uint32_t allowed = atomic_load_explicit(&c->out_producer->allowed,
						memory_order_relaxed);

	return allowed < RMB_ALLOWED_MIN || allowed > c->out.ring[0].bytes;
}

bool annex_is_possible(const struct connection *c)
{
	return c->annex != ANNEX_REFUSED && rings_have_annex(&c->out) &&
	       (c->annex == ANNEX_OURS || !annex_memory_is_scarce()) &&
	       connection_ring_out(c) == &c->out.ring[0] && is_wanted(c) &&
	       atomic_load_explicit(&c->out_consumer->annex,
				    memory_order_relaxed) == RMB_ANNEX &&
	       !process.off;
}

/* Another thread may have been here first. */
static void provide(struct connection *c)
{
	if (c->annex != ANNEX_NONE || !c->rmb)
		return;
	c->annex =
	    annex_memory_take(c->rmb, c->element) ? ANNEX_OURS : ANNEX_REFUSED;
}

bool annex_enter(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	sigset_t saved;
	bool done = false;
	bool taken;

	if (!annex_is_possible(c))
		return false;
	engine_lock(&saved);
	provide(c);
	engine_unlock(&saved);
	if (c->annex != ANNEX_OURS)
		return false;
	taken = stream_lock(tx);
	if (taken && annex_is_possible(c))
		done = stream_enter_annex(c);
	stream_unlock(tx, taken);
	/* Others that wait for room look by the clock. */
	if (done)
		c->slot->rmbe_out = c->out.ring[1].bytes;
	return done;
}
