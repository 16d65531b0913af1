/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stall_clock: since when a ring is full. */
#include "smc_r/protocol/stall_clock.h"

#define CROSSED_PART 10       /* divides the limit */
#define LATE_NS      1000000u /* then a reader is late: overflow.h */
#define LONG_AGO     1u       /* ns on a clock that began with the machine */

bool stall_clock_look(struct stall_clock *k, uint64_t cursor, uint64_t now)
{
	if (k->since_ns && k->at == cursor)
		return false;
	*k = (struct stall_clock){now, cursor};
	return true;
}

void stall_clock_end(struct stall_clock *k)
{
	k->since_ns = LONG_AGO;
}

uint64_t stall_clock_left(const struct stall_clock *k, uint64_t limit_ns,
			  bool crossed, uint64_t now)
{
	uint64_t past = now - k->since_ns;

	if (k->since_ns == LONG_AGO)
		return 0;
	if (crossed)
		limit_ns /= CROSSED_PART;
	return past < limit_ns ? limit_ns - past : 0;
}

bool stall_clock_was_late(const struct stall_clock *k, uint64_t cursor,
			  uint64_t least, uint64_t now)
{
	return k->since_ns > LONG_AGO && cursor - k->at >= least &&
	       now - k->since_ns >= LATE_NS;
}
