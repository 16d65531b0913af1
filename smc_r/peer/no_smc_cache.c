/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* no_smc_cache: the server without the engine that this process met last. */
#include "smc_r/peer/no_smc_cache.h"

#include <time.h>

#include "smc_r/os/relaxed.h"

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
	uint64_t seen = relaxed_load(&met);
	uint64_t ms = seen & ((1ull << TIME_BITS) - 1);

	return seen >> TIME_BITS == port && ms &&
	       now_ms() - ms < NO_SMC_CACHE_MS;
}

void no_smc_cache_note(uint16_t port)
{
	relaxed_store(&met, word_of(port, 0));
}

void no_smc_cache_confirm(uint16_t port)
{
	uint64_t asked = word_of(port, 0);

	if (relaxed_load(&met) == asked)
		atomic_compare_exchange_strong(&met, &asked,
					       word_of(port, now_ms()));
}

void no_smc_cache_clear(void)
{
	relaxed_store(&met, 0);
}
