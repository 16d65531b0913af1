/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_users: sweeps the segments of all users. For commands.
 *
 * Locking: none.
 */
#ifndef SMC_R_STATUS_USERS_H
#define SMC_R_STATUS_USERS_H

/*
 * As status_sweep of status_sweep.h, and for root the files of every user,
 * each with no more than the rights of its owner: in a child process, so that
 * a file cut short or a planted link harms nobody but its owner. Such children
 * get 2 s in all; then the rest is left to the next sweep.
 */
void status_users_sweep(const char *rundir);

#endif
