/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ring_memory: memory for the RMBE that we write, when a writer wants to go
 * where none is.
 *
 * Short messages that are answered need no more than what lies beside the
 * control block (rmb.h). The first step from there gets a few pages, the next
 * one the whole ring: a writer that had enough of one answer would pay for 64
 * pages. Until then the ring gives no bytes to a writer (stream_steps.h), but
 * polls say that there is room, as the writer will get it.
 *
 * Where there is no memory, or the control groups allow none (headroom.h), the
 * connection goes back to TCP.
 *
 * Locking: takes the engine lock.
 */
#ifndef SMC_R_RING_MEMORY_H
#define SMC_R_RING_MEMORY_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* A writer got no bytes of the ring for the lack of memory. */
bool ring_memory_is_missing(const struct connection *c);

/* Gets some. False: there is none. */
bool ring_memory_get(struct connection *c);

#endif
