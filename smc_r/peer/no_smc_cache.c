/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* no_smc_cache: the server without the engine that this process met last. */
#include "smc_r/peer/no_smc_cache.h"

#include <time.h>

#include "smc_r/os/relaxed.h"

#define TIME_BITS 47
#define TIME_MASK ((1ull << TIME_BITS) - 1)
#define REFUSES   (1ull << TIME_BITS)
#define PORT_BIT  48

/* The port stands above whether it refuses, and that above the time, in
 * milliseconds: 0 where nobody has connected yet. One word, so that no thread
 * sees the port of one and the time of another. */
static _Atomic uint64_t met;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool no_smc_cache_has(uint16_t port)
{
	uint64_t seen = relaxed_load(&met), now;
	uint64_t ms = seen & TIME_MASK;

	if (seen >> PORT_BIT != port || !ms)
		return false;
	now = now_ms();
	if (now - ms < NO_SMC_CACHE_MS)
		return true;
	return !atomic_compare_exchange_strong(
	    &met, &seen, (seen & ~TIME_MASK) | (now & TIME_MASK));
}

void no_smc_cache_note(uint16_t port, bool refuses)
{
	uint64_t seen = relaxed_load(&met);
	uint64_t says = (uint64_t)port << PORT_BIT | (refuses ? REFUSES : 0);

	if ((seen & ~TIME_MASK) != says)
		relaxed_store(&met, says);
}

bool no_smc_cache_refuses(uint16_t port)
{
	uint64_t seen = relaxed_load(&met);

	return seen >> PORT_BIT == port && (seen & REFUSES);
}

void no_smc_cache_confirm(uint16_t port)
{
	uint64_t asked = relaxed_load(&met);

	if (asked >> PORT_BIT == port && (asked & TIME_MASK) == 0)
		atomic_compare_exchange_strong(&met, &asked,
					       asked | (now_ms() & TIME_MASK));
}

void no_smc_cache_drop(uint16_t port)
{
	if (relaxed_load(&met) >> PORT_BIT == port)
		no_smc_cache_clear();
}

void no_smc_cache_clear(void)
{
	relaxed_store(&met, 0);
}
