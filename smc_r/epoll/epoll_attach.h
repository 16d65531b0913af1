/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_attach: a member's descriptors in the shadows of its instance.
 *
 * Locking: engine lock.
 */
#ifndef SMC_R_EPOLL_ATTACH_H
#define SMC_R_EPOLL_ATTACH_H

#include "smc_r/epoll/epoll_set.h"

/* (Re)places them for the connection's phase. False: the kernel has no memory
 * for a member that is new. */
bool epoll_member_attach(struct epoll_member *m);
/* The member waits for room: from here on B has the bell for room as well.
 * Another process, which knows nothing of B, may take the rings of the bell for
 * data. */
void epoll_attach_room(struct epoll_member *m);
/* The member knocks: B has the bell that rings when the knock is taken. Nothing
 * is done where an instance has no B, or another process's. */
void epoll_attach_knock(struct epoll_member *m);
/* The knock of c is over: tells all its members (connection_on_knock_settled).
 */
void epoll_knock_over(struct connection *c, int taken);
/* Takes the member out of both; the peer need not ring for it any more. */
void epoll_member_detach(struct epoll_member *m);
/* Called after a member of c left e. A connection has its bells in B once,
 * however many of its descriptors are registered. */
void epoll_attach_sibling(const struct epoll *e, struct connection *c);

#endif
