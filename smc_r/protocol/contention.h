/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * contention: do other threads want the processor of this one, and do they give
 * it back?
 *
 * A thread that waits awake yields the processor. Another one that waits awake
 * too, or has an answer to make, takes it for a moment: that costs little,
 * for which one yields at every step. A thread that computes takes it for whole
 * time slices. Beside such a thread the processor is kept for 20 ms, and for
 * twice as long each further time.
 *
 * Pure: the times are the caller's, in ns of one clock. A struct that is all
 * zero is a new one. Locking: the owner's.
 */
#ifndef SMC_R_CONTENTION_H
#define SMC_R_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

/* A yield that took no longer met nobody. */
#define CONTENTION_NOBODY_NS 1200u
/* A yield that took longer met a thread that computes. */
#define CONTENTION_LATE_NS   1000000u

struct contention {
	uint64_t keep_until_ns; /* nothing is yielded before */
	uint32_t keep_ns;       /* how long, the next time */
	bool given_back; /* somebody took the last one and gave it back */
};

/* Is now a time to yield at all, having kept the processor for so long? eager:
 * the peer for which we wait may need it. */
bool contention_should_yield(const struct contention *c, uint64_t now,
			     uint64_t kept_ns, bool eager);
/* Would it be lost for a time slice? */
bool contention_is_bad(const struct contention *c, uint64_t now);

/* A yield took so long and ended now; or the processor was taken from us for so
 * long. */
void contention_note_yield(struct contention *c, uint64_t took_ns,
			   uint64_t now);

#endif
