/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * overflow_memory: what overflow rings cost, and which process pays.
 *
 * A process has a few overflow rings at a time: one helps a stream whose reader
 * is late, but the bytes of fifty would be in no cache any more. All of them
 * fit into half of max_memory, and into what the control groups of this process
 * allow.
 *
 * Locking: engine lock held by the caller, but for overflow_memory_is_scarce.
 */
#ifndef SMC_R_OVERFLOW_MEMORY_H
#define SMC_R_OVERFLOW_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/link/shm/linkgroup.h"

/* This process has as many as it may. */
bool overflow_memory_is_scarce(void);

/* Takes memory for the one that our side writes. False: there is none. */
bool overflow_memory_take(struct rmb *r, uint32_t element);
/* alone: no other process of this end goes on with it. Where one does, we pay
 * for as long as the RMB is there. */
void overflow_memory_give(struct rmb *r, bool alone);

/* Runs in the child of a fork: the parent pays for what it took. */
void overflow_memory_forked(void);

#endif
