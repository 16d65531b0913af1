/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stall_clock: since when a ring is full, and for how long that may last. The
 * clock starts anew whenever the reader has read.
 *
 * Pure: the times are the caller's, in ns of one clock. A struct that is all
 * zero has not begun. Locking: the owner's.
 */
#ifndef SMC_R_STALL_CLOCK_H
#define SMC_R_STALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct stall_clock {
	uint64_t since_ns; /* 0: the ring is not full, to anybody's knowledge */
	uint64_t at;       /* and the reader's cursor has stood here */
};

/* There is no room, and the reader is at `cursor`. True: the clock starts. */
bool stall_clock_look(struct stall_clock *k, uint64_t cursor, uint64_t now);
/* Nobody will read: the time is over at the next look. */
void stall_clock_end(struct stall_clock *k);

/* How much is left of the limit, in ns; crossed: each end waits for the other
 * one to read, for which a tenth is enough. */
uint64_t stall_clock_left(const struct stall_clock *k, uint64_t limit_ns,
			  bool crossed, uint64_t now);

/* The reader was late the last time, and has read `least` bytes since. */
bool stall_clock_was_late(const struct stall_clock *k, uint64_t cursor,
			  uint64_t least, uint64_t now);

#endif
