/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* no_smc_cache: the server without the engine that this process met last. */
#include "smc_r/peer/no_smc_cache.h"

#include <stdatomic.h>
#include <time.h>

#define TIME_BITS 48

/* The port stands above the time, in milliseconds: 0 where nobody has connected
 * yet. One word, so that no thread sees the port of one and the time of
 * another. */
static _Atomic uint64_t met;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t word_of(uint16_t port, uint64_t ms)
{
	return (uint64_t)port << TIME_BITS | (ms & ((1ull << TIME_BITS) - 1));
}

bool no_smc_cache_has(uint16_t port)
{
	uint64_t seen = atomic_load_explicit(&met, memory_order_relaxed);
	uint64_t ms = seen & ((1ull << TIME_BITS) - 1);

	return seen >> TIME_BITS == port && ms &&
	       now_ms() - ms < PLAIN_SERVER_MS;
}

void no_smc_cache_note(uint16_t port)
{
	atomic_store_explicit(&met, word_of(port, 0), memory_order_relaxed);
}

void no_smc_cache_confirm(uint16_t port)
{
	uint64_t asked = word_of(port, 0);

	if (atomic_load_explicit(&met, memory_order_relaxed) == asked)
		atomic_compare_exchange_strong(&met, &asked,
					       word_of(port, now_ms()));
}

void no_smc_cache_clear(void)
{
	atomic_store_explicit(&met, 0, memory_order_relaxed);
}
