/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_history: whether the acceptors of a port are worth waiting for. */
#include "smc_r/protocol/port_history.h"

#include <stdbool.h>

/* A word: misses, when the first was, and how much later the last. */
#define LATER_BITS 14u
#define FIRST_BITS 48u
#define LATER_MAX  ((1u << LATER_BITS) - 1)

struct misses {
	uint32_t count;
	uint64_t first_ms;
	uint64_t last_ms;
};

_Static_assert(PORT_HISTORY_TIMEOUTS < 4, "two bits");
_Static_assert(PORT_HISTORY_MS < LATER_MAX, "fits");

static struct misses unpack(uint64_t word)
{
	struct misses m = {.count = (uint32_t)(word >> (64 - 2))};

	m.first_ms = word >> LATER_BITS & ((1ull << FIRST_BITS) - 1);
	m.last_ms = m.first_ms + (word & LATER_MAX);
	return m;
}

static uint64_t pack(const struct misses *m)
{
	return (uint64_t)m->count << (64 - 2) | m->first_ms << LATER_BITS |
	       (m->last_ms - m->first_ms);
}

static bool is_over(const struct misses *m, uint64_t now_ms)
{
	return m->count == 0 || now_ms - m->first_ms >= PORT_HISTORY_MS;
}

uint32_t port_history_timeouts(const struct port_history *g, uint16_t port,
			       uint64_t now_ms)
{
	struct misses m =
	    unpack(atomic_load(&g->ports[port % PORT_HISTORY_PORTS]));

	return is_over(&m, now_ms) ? 0 : m.count;
}

void port_history_note_timeout(struct port_history *g, uint16_t port,
			       uint64_t began_ms, uint64_t now_ms)
{
	_Atomic uint64_t *at = &g->ports[port % PORT_HISTORY_PORTS];
	uint64_t word = atomic_load(at);
	struct misses m = unpack(word);

	if (is_over(&m, now_ms))
		m = (struct misses){1, now_ms, now_ms};
	else if (m.count < PORT_HISTORY_TIMEOUTS && began_ms >= m.last_ms)
		m = (struct misses){m.count + 1, m.first_ms, now_ms};
	else
		return;
	/* A thread that changed it meanwhile counted, or met, for us as
	 * well. */
	atomic_compare_exchange_strong(at, &word, pack(&m));
}

void port_history_note_answer(struct port_history *g, uint16_t port)
{
	_Atomic uint64_t *at = &g->ports[port % PORT_HISTORY_PORTS];

	if (atomic_load_explicit(at, memory_order_relaxed))
		atomic_store(at, 0);
}

void port_answers_note(struct port_answers *p, uint16_t port, uint64_t now_ms)
{
	atomic_store_explicit(&p->ports[port % PORT_HISTORY_PORTS], now_ms,
			      memory_order_relaxed);
}

uint64_t port_answers_last(const struct port_answers *p, uint16_t port)
{
	return atomic_load_explicit(&p->ports[port % PORT_HISTORY_PORTS],
				    memory_order_relaxed);
}
