/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* company: do other threads want the processor of this one? */
#include "smc_r/protocol/contention.h"

#define PROBE_NS     8000u /* between yields that nobody asked for */
#define BAD_FIRST_NS 20000000u
#define BAD_MAX_NS   640000000u

bool company_is_bad(const struct company *c, uint64_t now)
{
	return now < c->bad_until_ns;
}

bool company_wants(const struct company *c, uint64_t now, uint64_t kept_ns,
		   bool eager)
{
	if (company_is_bad(c, now))
		return false;
	return eager || c->good || kept_ns >= PROBE_NS;
}

void company_judge(struct company *c, uint64_t took_ns, uint64_t now)
{
	if (took_ns < COMPANY_LATE_NS) {
		c->good = took_ns > COMPANY_NOBODY_NS;
		if (now >= c->bad_until_ns + BAD_MAX_NS)
			c->bad_ns = 0;
		return;
	}
	c->good = false;
	if (c->bad_ns < BAD_FIRST_NS)
		c->bad_ns = BAD_FIRST_NS;
	c->bad_until_ns = now + c->bad_ns;
	if (c->bad_ns < BAD_MAX_NS)
		c->bad_ns *= 2;
}
