/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ring_memory: memory for the RMBE that we write. */
#include "smc_r/stream/ring_memory.h"

#include "smc_r/memory/headroom.h"
#include "smc_r/os/process.h"

#define FIRST_BYTES 16384u /* of the ring */

bool ring_memory_is_missing(const struct connection *c)
{
	return __builtin_expect(c->out_memory.bytes != UINT32_MAX, 0);
}

/* Another thread may have been here first. */
static bool get(struct connection *c)
{
	uint32_t bytes = c->out.ring[0].bytes;
	bool all = c->out_memory.bytes > RMB_SHORT || bytes <= FIRST_BYTES;

	if (!c->rmb)
		return false;
	if (!all)
		bytes = FIRST_BYTES;
	if (headroom() < bytes ||
	    rmb_ring_fill(&c->rmb->map, c->element, c->side, bytes) < 0)
		return false;
	if (all)
		c->rmb->filled |= 1u << c->element;
	c->out_memory.bytes = all ? UINT32_MAX : bytes;
	return true;
}

bool ring_memory_get(struct connection *c)
{
	bool done;

	engine_lock();
	done = !ring_memory_is_missing(c) || get(c);
	engine_unlock();
	return done;
}
