/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* contention: do other threads want the processor of this one? */
#include "smc_r/protocol/contention.h"

#define PROBE_NS     8000u /* between yields that nobody asked for */
#define BAD_FIRST_NS 20000000u
#define BAD_MAX_NS   640000000u

bool contention_is_bad(const struct contention *c, uint64_t now)
{
	return now < c->keep_until_ns;
}

bool contention_should_yield(const struct contention *c, uint64_t now,
			     uint64_t kept_ns, bool eager)
{
	if (contention_is_bad(c, now))
		return false;
	return eager || c->given_back || kept_ns >= PROBE_NS;
}

void contention_note_yield(struct contention *c, uint64_t took_ns, uint64_t now)
{
	if (took_ns < CONTENTION_LATE_NS) {
		c->given_back = took_ns > CONTENTION_NOBODY_NS;
		if (now >= c->keep_until_ns + BAD_MAX_NS)
			c->keep_ns = 0;
		return;
	}
	c->given_back = false;
	if (c->keep_ns < BAD_FIRST_NS)
		c->keep_ns = BAD_FIRST_NS;
	c->keep_until_ns = now + c->keep_ns;
	if (c->keep_ns < BAD_MAX_NS)
		c->keep_ns *= 2;
}
