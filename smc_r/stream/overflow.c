/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overflow: the second ring of a direction, for a writer whose reader is
 * late. */
#include "smc_r/stream/overflow.h"

#include "smc_r/link/shm/overflow_memory.h"
#include "smc_r/os/process.h"
#include "smc_r/stream/stream.h"

/* The program may have made its buffers small. */
static bool is_wanted(const struct connection *c)
{
	uint32_t allowed = relaxed_load(&c->out_producer->limit);

	return allowed < RMB_LIMIT_MIN || allowed > c->out.ring[0].bytes;
}

bool overflow_is_possible(const struct connection *c, uint32_t most)
{
	return c->out_memory.overflow != OVERFLOW_REFUSED &&
	       rings_have_overflow(&c->out) &&
	       (c->out_memory.overflow == OVERFLOW_OURS ||
		!overflow_memory_is_scarce(most)) &&
	       connection_ring_out(c) == &c->out.ring[0] && is_wanted(c) &&
	       relaxed_load(&c->out_consumer->overflow) == RMB_OVERFLOW &&
	       !process.off;
}

/* Another thread may have been here first. */
static void provide(struct connection *c, uint32_t most)
{
	if (c->out_memory.overflow != OVERFLOW_NONE || !c->rmb)
		return;
	c->out_memory.overflow = overflow_memory_take(c->rmb, c->element, most)
				     ? OVERFLOW_OURS
				     : OVERFLOW_REFUSED;
}

bool overflow_enter(struct connection *c, uint32_t most)
{
	struct status_stream *tx = &c->slot->tx;
	bool done = false;
	bool taken;

	if (!overflow_is_possible(c, most))
		return false;
	engine_lock();
	provide(c, most);
	engine_unlock();
	if (c->out_memory.overflow != OVERFLOW_OURS)
		return false;
	taken = stream_lock(tx);
	if (taken && overflow_is_possible(c, most))
		done = stream_enter_overflow(c);
	stream_unlock(tx, taken);
	/* Others that wait for room look by the clock. */
	if (done)
		c->slot->rmbe_out = c->out.ring[1].bytes;
	return done;
}
