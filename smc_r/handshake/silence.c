/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* silence: clients that offered SMC and say nothing. */
#include "smc_r/handshake/silence.h"

#include "smc_r/protocol/unheard.h"

#define TOLD_EVERY 256u /* what was in the listener's queue still comes */
#define NS_PER_MS  1000000u

static _Alignas(64) struct unheard unheard;

bool silence_begin(struct connection *c)
{
	uint32_t n = unheard_begin(&unheard, c->slot->local_port,
				   c->handshake.begun_ns / NS_PER_MS);

	c->handshake.unheard = true;
	return n >= UNHEARD_MAX && n % TOLD_EVERY == 0;
}

void silence_end(struct connection *c)
{
	if (c->handshake.unheard)
		unheard_end(&unheard, c->slot->local_port,
			    c->handshake.begun_ns / NS_PER_MS);
	c->handshake.unheard = false;
}
