/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_read: what the engines of all users that this one may read counted.
 * For commands.
 *
 * Ownership: results are plain values of the caller.
 * Locking:   sums hold flock(LOCK_SH) of one totals file at a time, so that a
 *            segment is counted exactly once. Its user may keep that lock; then
 *            the sum is made without it, after two seconds.
 */
#ifndef SMC_R_STATUS_READ_H
#define SMC_R_STATUS_READ_H

#include <sys/types.h>

#include "smc_r/os/status.h"

struct status_sum {
	/* Ended processes, living ones, and connections that still exist. */
	struct status_counters counters;
	uint64_t rmb_bytes;    /* RMB memory of living processes */
	uint64_t rmb_reserved; /* the ledger that max_memory limits */
	unsigned processes;    /* living, with a segment */
	/* Connections that a living process holds, by state. */
	unsigned starting;
	unsigned active;
	unsigned closing;
	unsigned tcp;
	unsigned offer_kind; /* largest of the living: see status_header */
};

/*
 * 0 or a negative errno. A run directory that does not exist, or has no
 * segment, sums up to zeros. Files that are not what they should be count
 * nothing.
 */
int status_read_sum(const char *rundir, struct status_sum *out);

/* Only the segments that wait for this reporter, of living and dead. */
int status_read_reported(const char *rundir, pid_t reporter,
			 struct status_sum *out);

#endif
