/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_arm: what makes the members of an instance ring for it.
 *
 * An arm that is taken leaves one byte in a bell. A thread that removes bytes
 * from a bell, or signs (edges) from a shadow, must afterwards arm and then
 * look, or wake every thread that may have been armed. So bells are emptied
 * here alone, in front of the arms, and a thread shows its struct epoll_armed
 * to sleep. tests/model proves the order of the steps.
 *
 * Locking: epoll_set.h. The engine lock is free.
 *
 * A thread that leaves an instance while others sleep in it, or on it by
 * poll(), arms its members for them, looks, and wakes one of them if there is
 * more to report. A thread that is cancelled, or leaves its sleep by longjmp,
 * passes on what it took in the same way.
 */
#ifndef SMC_R_EPOLL_ARM_H
#define SMC_R_EPOLL_ARM_H

#include "smc_r/epoll/epoll_set.h"

/* Empties bells that are filling up, then arms all members. A look must follow:
 * what came before rings for nobody. others: the caller does not wait in e
 * next; of many members, those that are marked are armed for room as well, as
 * no wait looks at them. */
struct epoll_armed epoll_arm(struct epoll *e, bool others);

/* And for what has become armed since, by epoll_arm_room(). True: it rings
 * for what comes, and a look must follow. */
bool epoll_arm_again(struct epoll_armed *armed);

/* A look at a member that has no room, in an instance where nobody goes through
 * all members before a sleep. */
void epoll_arm_room(struct epoll_member *m, uint32_t events);

/* A look at a member with a bit: its bells are emptied before the next arms if
 * they fill up. */
void epoll_note_rings(struct epoll_member *m);

#endif
