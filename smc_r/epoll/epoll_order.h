/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_order: the member that became ready first is reported first.
 *
 * The kernel has a list of those that are ready, and programs live off it: a
 * client that writes to two connections of a server finds the first one served
 * first. A writer whose peer waits for several connections says since when
 * there is something to read (rmb.h).
 *
 * Bounds: no order is kept among more than EPOLL_ORDER_MAX that are ready at
 *         once, nor among members that find no place in the program's array.
 *         Between members and the kernel's descriptors there is one only for a
 *         thread that was away for long (epoll_kernel.c).
 * Hostile: what a peer says decides about nothing but the order.
 *
 * Members come before the kernel's own descriptors, with two exceptions. After
 * a sleep they come behind them, in the same report. If the program was away
 * for long, those that became ready in the later half of that time come behind
 * them.
 */
#ifndef SMC_R_EPOLL_ORDER_H
#define SMC_R_EPOLL_ORDER_H

#include "smc_r/epoll/epoll_set.h"

#define EPOLL_ORDER_MAX 64

/* Engine lock held. A second member came; one was attached. */
void epoll_order_begin(struct epoll *e);
void epoll_order_join(struct epoll_member *m);

/* When the last of these became ready (sys_ticks); and may a member that is not
 * among them have become so before? */
uint64_t epoll_order_newest(struct epoll_member *const *found, int n);
bool epoll_order_is_missed(const struct epoll_member *m, uint64_t newest,
			   struct epoll_member *const *found, int n);

/* found[i] is ready for events[i]; n is at most EPOLL_ORDER_MAX. */
void epoll_order_sort(struct epoll_member *const *found,
		      struct epoll_event *events, int n);

/* How many of them were ready at that time (sys_ticks). */
uint32_t epoll_order_until(struct epoll_member *const *found, int n,
			   uint64_t ticks);

#endif
