/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* overflow_memory: what overflow rings cost, and which process pays. */
#include "smc_r/link/shm/overflow_memory.h"

#include "smc_r/memory/headroom.h"
#include "smc_r/os/process.h"
#include "smc_r/peer/settings.h"
#include "smc_r/status/segment.h"

#define PART 2 /* divides max_memory */

static _Atomic uint32_t taken;

bool overflow_memory_is_scarce(uint32_t most)
{
	return relaxed_load(&taken) >= most;
}

static bool reserve(void)
{
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);

	return s && headroom() >= RMB_OVERFLOW &&
	       segment_reserve(RMB_OVERFLOW, s->max_memory_bytes / PART,
			       NULL) == 0;
}

bool overflow_memory_take(struct rmb *r, uint32_t element, uint32_t most)
{
	ENGINE_LOCKED();
	if (overflow_memory_is_scarce(most) || !reserve())
		return false;
	if (rmb_overflow_fill(&r->map, element, r->side) < 0) {
		segment_give_back(RMB_OVERFLOW);
		return false;
	}
	r->overflowed += RMB_OVERFLOW;
	atomic_fetch_add(&taken, 1);
	return true;
}

void overflow_memory_give(struct rmb *r, bool alone)
{
	ENGINE_LOCKED();
	atomic_fetch_sub(&taken, 1);
	if (!alone)
		return;
	r->overflowed -= RMB_OVERFLOW;
	segment_give_back(RMB_OVERFLOW);
}

void overflow_memory_forked(void)
{
	atomic_store(&taken, 0);
}
