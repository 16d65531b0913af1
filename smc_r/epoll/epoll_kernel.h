/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_kernel: members and the kernel's own descriptors of an instance, asked
 * without waiting.
 *
 * The kernel is asked seldom while members are ready: every ASK_EVERY calls,
 * and when ASK_NS have passed. It tells signs of life of the shadow instances
 * among the rest; those are taken out, and heeded.
 *
 * Locking: epoll_set.h.
 */
#ifndef SMC_R_EPOLL_KERNEL_H
#define SMC_R_EPOLL_KERNEL_H

#include "smc_r/epoll/epoll_set.h"

/* Asks the kernel about its own descriptors, now: how many. */
int epoll_kernel(struct epoll *e, struct epoll_event *events, int max);

/* The kernel has just been. */
void epoll_kernel_asked(struct epoll *e);

/*
 * Reports both, as a wait begins, in the order in which they became ready, as
 * far as that is known. If nothing is ready, the wait that follows asks the
 * kernel, as it sleeps in it, unless the kernel had something to tell the last
 * time. *asked: the kernel was asked.
 */
int epoll_kernel_first(struct epoll *e, struct epoll_event *events, int max,
		       bool only_looks, bool *asked);

/* Takes our own cookies out of what the kernel returned: how many are left.
 * *woken: there was one. */
int epoll_filter(struct epoll *e, struct epoll_event *events, int n,
		 bool *woken);

/* Is there anything in the shadows that no cursor shows? */
bool epoll_must_drain(const struct epoll *e);

#endif
