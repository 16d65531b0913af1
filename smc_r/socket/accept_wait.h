/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * accept_wait: a thread that sleeps in accept() hears when a peer dies.
 *
 * The kernel's accept() waits for one thing only. So where a death matters the
 * thread sleeps in poll(), and calls accept() when there is a connection.
 */
#ifndef SMC_R_ACCEPT_WAIT_H
#define SMC_R_ACCEPT_WAIT_H

/* Waits before accept() on this descriptor, if that would wait without a limit.
 * 0, or -1 with EINTR, when a signal would have ended the call. A cancellation
 * point. */
int accept_wait(int fd);

#endif
