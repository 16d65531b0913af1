/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_totals: what the ended processes of each user counted.
 *
 * Ownership: the caller closes descriptors and unmaps.
 * Locking:   flock(2) on the file: LOCK_EX to merge, LOCK_SH to sum. Its user
 *            can keep such a lock, so nobody waits for it without limit.
 *
 * Uses libc only and allocates nothing.
 */
#ifndef SMC_R_STATUS_TOTALS_H
#define SMC_R_STATUS_TOTALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "smc_r/os/status.h"

/*
 * Opens the totals in a user's directory for reading. -ENOENT when there are
 * none; -EPROTO when it is no regular file; another -errno.
 */
int status_totals_open(int dir);

/* 0; -EPROTO when the file holds something else; another -errno. */
int status_totals_copy(int fd, struct status_totals *out);

/*
 * Opens the totals of the effective user, making them when there are none,
 * and maps them: 0 and *out is mapped and *fd open, or a negative errno. Not
 * for the file of another user, who could cut it short under the mapping.
 */
int status_totals_map(int dir, struct status_totals **out, int *fd);
void status_totals_unmap(struct status_totals *totals, int fd);

/* how is LOCK_SH or LOCK_EX: 0, or -EBUSY when it took more than wait_ms. */
int status_totals_lock(int fd, int how, unsigned wait_ms);
void status_totals_unlock(int fd);

/* Adds every counter; to may be shared with other processes. */
void status_counters_add(struct status_counters *to,
			 const struct status_counters *from);

#endif
