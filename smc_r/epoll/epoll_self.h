/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_self: connections of a process to its own listeners, in epoll.
 *
 * A process with one thread would wait in vain for itself to accept before it
 * writes. So such a connection hides that it can write as long as there is
 * anything else to tell (handshake.h).
 *
 * Locking: epoll_set.h.
 */
#ifndef SMC_R_EPOLL_SELF_H
#define SMC_R_EPOLL_SELF_H

#include "smc_r/epoll/epoll_set.h"

/*
 * On TCP a connection to ourselves can be written to with the very wait that
 * tells of it at the listener, which became ready first: behind n events, how
 * many there are then.
 */
int epoll_self_first(struct epoll *e, struct epoll_event *events, int n,
		     int max);

/* No member is ready, and those to ourselves only hide from the rest. */
int epoll_self_alone(struct epoll *e, struct epoll_event *events, int max);

#endif
