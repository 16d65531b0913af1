/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * baseline: what the counters showed when they were last reset. For commands.
 *
 * A reset clears nothing: engines count on, and a command that prints subtracts
 * the baseline. mkdev writes one too, so that a device begins at zero.
 *
 * The file is <run directory>/baseline; it counts only when root or the owner
 * of the run directory made it.
 *
 * Ownership: values of the caller.
 * Locking:   none; the file is replaced by rename(2).
 */
#ifndef SMC_R_BASELINE_H
#define SMC_R_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#include "smc_r/os/status.h"

struct baseline {
	uint64_t since_ms; /* CLOCK_REALTIME, milliseconds */
	struct status_counters counters;
};

/*
 * 0; -ENOENT when there was no reset; -EPERM when the file is a stranger's;
 * -EPROTO when it holds something else; another -errno.
 */
int baseline_read(const char *rundir, struct baseline *out);

/* Does what baseline_read() does, with the bytes of the file. */
int baseline_decode(const void *bytes, size_t size, struct baseline *out);

/* Resets to these counters, now: 0 or a negative errno. */
int baseline_write(const char *rundir, const struct status_counters *counters);

/*
 * Takes the baseline off. A counter that is smaller than it was at the reset
 * (its file was removed) becomes 0.
 */
void baseline_subtract(struct status_counters *counters,
		       const struct baseline *baseline);

#endif
