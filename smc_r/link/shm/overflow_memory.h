/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * overflow_memory: what overflow rings cost, and which process pays.
 *
 * A process has a few overflow rings at a time: one helps a stream whose reader
 * is late, but the bytes of fifty would be in no cache any more. It has some
 * more for messages that no RMBE holds, which it has made meanwhile. All of
 * them fit into half of max_memory, and into what the control groups of this
 * process allow.
 *
 * Locking: engine lock held by the caller, but for overflow_memory_is_scarce.
 */
#ifndef SMC_R_OVERFLOW_MEMORY_H
#define SMC_R_OVERFLOW_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/link/shm/linkgroup.h"

/* So many a process may have. */
#define OVERFLOW_MOST       8u  /* a share of a processor's last cache */
#define OVERFLOW_MOST_LARGE 64u /* large messages are in no cache anyway */

/* This process has `most` of them. */
bool overflow_memory_is_scarce(uint32_t most);

/* Takes memory for the one that our side writes, unless the process has `most`
 * of them. False: there is none. */
bool overflow_memory_take(struct rmb *r, uint32_t element, uint32_t most);
/* alone: no other process of this end goes on with it. Where one does, we pay
 * for as long as the RMB is there. */
void overflow_memory_give(struct rmb *r, bool alone);

/* Runs in the child of a fork: the parent pays for what it took. */
void overflow_memory_forked(void);

#endif
