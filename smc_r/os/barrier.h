/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * barrier: lets a sleeper pay for the fence between a writer's cursor and its
 * look for sleepers (membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED).
 *
 * With a fence in each write of a stream of small ones, the writer waits for
 * the lines of its bytes to leave the reader's cache. A reader in a stream
 * hardly ever sleeps; when it does, one barrier of all processors that run the
 * writer makes good for all fences that were left out.
 *
 * x86-64 only, where stores become visible in order.
 *
 * Locking: none; its words are atomic.
 *
 * A stream is 64 writes in a row of which none was answered and which woke
 * nobody. The writer says that it leaves the fence out. This gives a fifth to a
 * half more small messages.
 */
#ifndef SMC_R_BARRIER_H
#define SMC_R_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "smc_r/os/process.h"

/* May this process sleep beside writers without fences? Asks the kernel once.
 */
bool barrier_works(void);

/* From here on barriers of others reach this process; again after a fork. The
 * first time with threads it takes some milliseconds. */
bool barrier_register(void);
/* The process that is registered; a forked child is another one. */
extern _Atomic pid_t barrier_registered;
static inline bool barrier_reaches_us(void)
{
	return relaxed_load(&barrier_registered) == process.pid;
}

/* All registered processes have passed a full fence when this returns true;
 * false: the kernel refused, and nobody may rely on it. */
bool barrier_all(void);

/* Does so for all processes, registered or not: some milliseconds. */
bool barrier_everybody(void);

#endif
