/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* unheard: how many clients of a port have said nothing. */
#include "smc_r/protocol/unheard.h"

static uint64_t slice_of(uint64_t ms)
{
	return ms / (UNHEARD_MS / UNHEARD_SLICES) + 1;
}

uint32_t unheard_begin(struct unheard *u, uint16_t port, uint64_t now_ms)
{
	uint64_t now = slice_of(now_ms);
	uint32_t at = now % UNHEARD_SLICES;
	uint64_t *slice = u->ports[port % UNHEARD_PORTS].slice;
	uint32_t *count = u->ports[port % UNHEARD_PORTS].count;
	uint32_t sum = 0;

	if (slice[at] != now)
		count[at] = 0;
	slice[at] = now;
	count[at]++;
	for (uint32_t i = 0; i < UNHEARD_SLICES; i++)
		if (now - slice[i] < UNHEARD_SLICES)
			sum += count[i];
	return sum;
}

void unheard_end(struct unheard *u, uint16_t port, uint64_t begun_ms)
{
	uint64_t begun = slice_of(begun_ms);
	uint32_t at = begun % UNHEARD_SLICES;

	if (u->ports[port % UNHEARD_PORTS].slice[at] == begun &&
	    u->ports[port % UNHEARD_PORTS].count[at] > 0)
		u->ports[port % UNHEARD_PORTS].count[at]--;
}
