/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_nested: instances inside other instances.
 *
 * While the inner one has no members, the registration is the kernel's alone.
 * Then it becomes a mere sign of life: edge-triggered, under a cookie of the
 * outer instance; and whether the inner one is ready, or has become so anew, is
 * found out from its members here.
 *
 * Locking: changes: engine lock. Scans take none, as those of members.
 *
 * Levels: the kernel allows five, and a shadow is one more. So an instance at
 * the deepest level is the kernel's, with all that is registered there. A
 * thread that sleeps in an outer instance does not count as a sleeper of the
 * inner one, so a change of what is ready in the inner one pokes it whether
 * anybody sleeps or not.
 */
#ifndef SMC_R_EPOLL_NESTED_H
#define SMC_R_EPOLL_NESTED_H

#include "smc_r/epoll/epoll_set.h"

/* epoll_ctl of e for fd, an instance of ours. 0 or -errno. */
int epoll_nested_control(struct epoll *e, int op, int fd,
			 const struct epoll_event *event);

/* The kernel did so, and there is no connection yet: no lock, no call. */
void epoll_nested_note(struct epoll *e, int op, int fd,
		       const struct epoll_event *event);

/* Engine lock held: inner has its first member. */
void epoll_nested_adopt(struct epoll *inner);
/* Engine lock held: the instance is about to go. */
void epoll_nested_forget(struct epoll *inner);
/* Engine lock held: the cookie is another one now. */
void epoll_nested_redraw(struct epoll *e);

/* Engine lock held: several processes use e, all registrations are the
 * kernel's. */
void epoll_nested_give(struct epoll *e);

/* The kernel reported this cookie. */
void epoll_nested_woken(struct epoll *e, uint64_t data);
/* Reports those that are ready, up to max. */
int epoll_nested_scan(struct epoll *e, struct epoll_event *events, int max);

/* The mark grows, or just changes, whenever a member makes a new event. */
uint64_t epoll_nested_mark(struct epoll *e);

#endif
