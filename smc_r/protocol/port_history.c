/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_history: whether the acceptors of a port are worth waiting for. */
#include "smc_r/protocol/port_history.h"

#define COUNT_BITS 2u
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

_Static_assert(PORT_HISTORY_TIMEOUTS <= COUNT_MASK, "fits");

uint32_t port_history_timeouts(const struct port_history *g, uint16_t port,
			       uint64_t now_ms)
{
	uint64_t word =
	    atomic_load(&g->ports[port % PORT_HISTORY_PORTS].timeouts);

	return now_ms - (word >> COUNT_BITS) < PORT_HISTORY_MS
		   ? (uint32_t)word & COUNT_MASK
		   : 0;
}

void port_history_note_timeout(struct port_history *g, uint16_t port,
			       uint64_t began_ms, uint64_t now_ms)
{
	_Atomic uint64_t *at = &g->ports[port % PORT_HISTORY_PORTS].timeouts;
	uint64_t word = atomic_load(at);
	uint32_t count = port_history_timeouts(g, port, now_ms);

	if (count >= PORT_HISTORY_TIMEOUTS ||
	    (count > 0 && began_ms < word >> COUNT_BITS))
		return;
	/* A thread that changed it meanwhile counted, or was answered, for us
	 * as well. */
	atomic_compare_exchange_strong(at, &word,
				       now_ms << COUNT_BITS | (count + 1));
}

void port_history_note_answer(struct port_history *g, uint16_t port,
			      uint64_t now_ms, bool in_time)
{
	atomic_store_explicit(&g->ports[port % PORT_HISTORY_PORTS].answered_ms,
			      now_ms, memory_order_relaxed);
	if (in_time)
		atomic_store_explicit(
		    &g->ports[port % PORT_HISTORY_PORTS].timeouts, 0,
		    memory_order_relaxed);
}

uint64_t port_history_answered(const struct port_history *g, uint16_t port)
{
	return atomic_load_explicit(
	    &g->ports[port % PORT_HISTORY_PORTS].answered_ms,
	    memory_order_relaxed);
}
