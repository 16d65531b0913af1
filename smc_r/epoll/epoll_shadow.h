/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_shadow: what the kernel tells of members, and how they become its own.
 *
 * EPOLL_CTL_ADD reports everything that is ready now, so an edge-triggered
 * registration would be told again what it knows. One that was told all of it
 * moves late: it stays in the shadow, which asks the kernel for exactly what
 * the program asks for, until the kernel tells of the next edge. That edge is
 * then the one that EPOLL_CTL_ADD reports.
 */
#ifndef SMC_R_EPOLL_SHADOW_H
#define SMC_R_EPOLL_SHADOW_H

#include "smc_r/epoll/epoll_set.h"

/* member.late */
#define LATE_NOT    0u
#define LATE_SETTLE 1u /* what is ready now is no news */
#define LATE_WAITS  2u
#define LATE_EDGE   3u /* due to move */

/* Takes what the shadow knows and cursors do not show: the end of a peer. From
 * bells that rang it takes only what must be known: which member of many is to
 * be looked at. */
void epoll_drain(struct epoll *e);
/* Harvests all bells as well: the kernel is to be asked whether E has anything
 * else. True: there was news of a member, and not only a wake-up of ours. */
bool epoll_drain_all(struct epoll *e);

/* Harvests the shadow alone, engine lock held: members that are due to move
 * stay. Threads that sleep on e must be woken after it. */
void epoll_drain_locked(struct epoll *e);

/* If it is late, it is due now. */
void epoll_note_late(struct epoll_member *m);

/* Moves m to the kernel, now or with the next edge; c is plain TCP, or about to
 * be. Engine lock held. */
void epoll_member_leave(struct epoll_member *m);

#endif
