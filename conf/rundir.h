/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rundir: where commands and engines of one host meet.
 *
 * Ownership: the path belongs to the process; nobody frees it.
 * Locking:   the first call is made before the process has threads; the answer
 *            is the same for the life of the process.
 *
 * Uses libc only and allocates nothing: this runs in strangers' processes.
 */
#ifndef CONF_RUNDIR_H
#define CONF_RUNDIR_H

#define RUNDIR_DEFAULT  "/run/smc_r"
#define RUNDIR_VARIABLE "SMC_R_RUNDIR"

/* Names inside the run directory. */
#define RUNDIR_SNAPSHOT   "smc_r0"
#define RUNDIR_GENERATION "generation"
#define RUNDIR_STATUS     "status"
#define RUNDIR_PEER       "peer"
#define RUNDIR_DATABASE   "database" /* a link to whose settings these are */

/*
 * Absolute path of the run directory: $SMC_R_RUNDIR, else RUNDIR_DEFAULT.
 * Programs that gained privileges, and values that are not absolute paths,
 * get the default.
 */
const char *rundir_path(void);

/* The value of $SMC_R_RUNDIR that rundir_path does not take because it is no
 * absolute path; else NULL. For commands, which rather say so. */
const char *rundir_refused(void);

#endif
