/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stoppable: a sleep that ends when the process was stopped and goes on. A
 * socket call that has a time-out, or has moved bytes already, ends so: see
 * signal(7). A ppoll(2) does not, as the kernel goes on with it of its own
 * accord, unless there is nowhere to write what is left of the time.
 *
 * Locking: none.
 */
#ifndef SMC_R_STOPPABLE_H
#define SMC_R_STOPPABLE_H

#include <poll.h>
#include <time.h>

/* As ppoll(2) without a mask. timeout NULL: for ever. A cancellation point. */
int stoppable_poll(struct pollfd *p, nfds_t n, const struct timespec *timeout);

#endif
