/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_prefetch: with thousands of connections nothing of one is in the caches
 * when its turn comes, and a look, a read and a write would wait for twenty
 * lines one after the other. A wait that finds many members ready asks for all
 * their lines first, so that they come together.
 *
 * Locking: none, as the scans of epoll_ready.h.
 *
 * Members that were ready a moment ago are left out, as their lines are still
 * there.
 */
#ifndef SMC_R_EPOLL_PREFETCH_H
#define SMC_R_EPOLL_PREFETCH_H

#include "smc_r/epoll/epoll_set.h"

/* Fewer members than this stay in the caches by themselves. */
#define EPOLL_PREFETCH_MIN 256

/* The members of these bits. A hint: nothing is changed. */
void epoll_prefetch(struct epoll_member *const _Atomic *members, uint64_t bits);

#endif
