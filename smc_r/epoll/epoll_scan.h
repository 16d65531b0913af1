/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_scan: which members of an instance are ready, by their cursors.
 *
 * What is reported is taken: an edge is told once, and EPOLLONESHOT disables.
 * A member that turns out to be plain TCP moves to the kernel on the way.
 *
 * Locking: epoll_set.h.
 */
#ifndef SMC_R_EPOLL_SCAN_H
#define SMC_R_EPOLL_SCAN_H

#include "smc_r/epoll/epoll_set.h"

/* How many of at most max events; those that became ready first come first. */
int epoll_scan(struct epoll *e, struct epoll_event *events, int max);

/* The same for a single member: 1 or 0. */
int epoll_scan_one(struct epoll_member *m, struct epoll_event *event);

/* Handshakes are told of from now on that were hidden: each registration of
 * them is looked at, as a connection may have several. */
void epoll_scan_hidden(struct epoll *e);

#endif
