/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * poll_wait: poll and select (select_wait.c) over mixed sets of descriptors.
 *
 * Locking: none of its own.
 */
#ifndef SMC_R_POLL_WAIT_H
#define SMC_R_POLL_WAIT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>
#include <time.h>

bool poll_is_member(int fd);
/* Is a thread that sleeps for this descriptor to hear when a peer dies? */
bool poll_hears_deaths(int fd);
/* Is any of these one or the other? If not, the caller asks the kernel. */
bool poll_has_members(const struct pollfd *fds, nfds_t n);

/* Does ppoll(2). timeout NULL: for ever. */
int poll_members(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		 const sigset_t *mask);
/* Does poll(2). Other than with the above, the time in which the process is
 * stopped counts. */
int poll_members_ms(struct pollfd *fds, nfds_t n, int ms);

/*
 * As far as these sets reach. Programs have ones for FD_SETSIZE descriptors and
 * say getdtablesize(); the kernel looks no further than its own table does, and
 * that would not be large without our numbers. What lies behind a set has bits
 * of no descriptor.
 */
int select_reach(int n, const fd_set *r, const fd_set *w, const fd_set *x);
bool select_has_members(int n, const fd_set *r, const fd_set *w,
			const fd_set *x);
/* Does pselect(2), without changing the time-out. */
int select_members(int n, fd_set *r, fd_set *w, fd_set *x,
		   const struct timespec *timeout, const sigset_t *mask);

#endif
