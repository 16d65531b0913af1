/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_sweep: moves what dead processes counted into the totals.
 *
 * A process that ends in order merges its own segment. Those of killed ones
 * stay behind, until somebody sweeps.
 *
 * Ownership: none.
 * Locking:   a segment is unlinked and merged under flock(LOCK_EX) of the
 *            totals, so it is counted once, by the process that came first. A
 *            crash between the two loses it; nothing counts twice.
 *
 * Uses libc only.
 */
#ifndef SMC_R_STATUS_SWEEP_H
#define SMC_R_STATUS_SWEEP_H

#include <sys/types.h>

#include "smc_r/status/status_file.h"
#include "smc_r/status/user_directory.h"

/*
 * Merges the segment of that name in the effective user's directory into its
 * totals, and unlinks it. Nobody may use the segment any more. 0; -ENOENT when
 * somebody else has done it; another -errno, and the segment stays.
 */
int status_merge(const struct user_directory *u, const char *name,
		 struct status_file *file);

/*
 * Merges all segments of the effective user whose processes are dead and
 * whose reporter is dead too: number of files gone, or a negative errno when
 * the directory cannot be read. Files it cannot handle stay.
 */
int status_sweep(const char *rundir);

/* Merges those that wait for this reporter as well. */
int status_sweep_reported(const char *rundir, pid_t reporter);

/* Merges those of one directory, which is the effective user's: else -EPERM. */
int status_sweep_user(const struct user_directory *u, pid_t reporter);

#endif
