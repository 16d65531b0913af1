/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_scan: which members of an instance are ready, by their cursors.
 *
 * What is reported is taken: an edge is told once, and EPOLLONESHOT disables.
 * A member that turns out to be plain TCP moves to the kernel on the way.
 *
 * Invariants:
 *   E1  no scan reports more than max events;
 *   E2  what is reported of a member was asked for: its bits lie in its mask,
 *       EPOLLERR and EPOLLHUP.
 *
 * Locking: epoll_set.h.
 */
#ifndef SMC_R_EPOLL_SCAN_H
#define SMC_R_EPOLL_SCAN_H

#include "smc_r/epoll/epoll_set.h"

/* Reports at most max events: how many. Those that became ready first come
 * first. */
int epoll_scan(struct epoll *e, struct epoll_event *events, int max);

/* Looks at a single member, as epoll_scan() does: 1 or 0. */
int epoll_scan_one(struct epoll_member *m, struct epoll_event *event);

/* Handshakes hide output from members that wait for it; tells says which are
 * told of from now on. True: there is one, and a look finds each registration
 * of it, as a connection may have several. */
bool epoll_tell_hidden(struct epoll *e, bool (*tells)(struct connection *c));

#endif
