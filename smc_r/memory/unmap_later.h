/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * unmap_later: where the addresses of memory wait that both ends are done with.
 *
 * A thread that is late in a call, or goes through the members of an epoll
 * instance, may still look at the mapping of an RMB that ended. So the memory
 * is given back at once, and the addresses a second later: until then they are
 * zeros of our own.
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_UNMAP_LATER_H
#define SMC_R_UNMAP_LATER_H

#include <stdbool.h>

#include "smc_r/memory/rmb.h"

/* Ends this mapping and empties *m. unused: no process of either end needs the
 * memory any more, so that its pages go too; otherwise forked processes may go
 * on with theirs. An unmapped *m is left alone. Cannot fail: without memory to
 * remember them, the addresses are lost until exec. */
void unmap_later(struct rmb_map *m, bool unused);

#endif
