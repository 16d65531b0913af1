/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_rest: members in their handshake cost the others nothing.
 *
 * A handshake goes on by what TCP tells, which the shadow hears, and by the
 * clock. So a member that had nothing to tell is not looked at again before the
 * shadow has heard from its socket, or its own time is over. A server that
 * awaits a Proposal, and hides nothing from its program, has no time: where
 * many do, they rest. No look goes through them until the shadow has heard.
 *
 * Locking: engine lock where it is said.
 */
#ifndef SMC_R_EPOLL_REST_H
#define SMC_R_EPOLL_REST_H

#include "smc_r/epoll/epoll_set.h"

#define REST_MIN 16u /* so many may be looked at in vain */

/* Would a look at it find what the last one found? *now: sys_now_ns, or 0 until
 * somebody has to know it. */
bool epoll_is_quiet(const struct epoll_member *m, uint64_t *now);
/* A look found nothing; so much had been told before it (m->news). */
void epoll_note_quiet(struct epoll_member *m, uint32_t news);
/* Sends those to rest that may. Takes the engine lock. */
void epoll_rest(struct epoll *e);

#endif
