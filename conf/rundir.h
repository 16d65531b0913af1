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

#include <stdbool.h>
#include <stdint.h>

#define RUNDIR_DEFAULT  "/run/smc_r"
#define RUNDIR_VARIABLE "SMC_R_RUNDIR"

/* Names inside the run directory. */
#define RUNDIR_SNAPSHOT   "smc_r0"
#define RUNDIR_GENERATION "generation"
#define RUNDIR_DATABASE   "database" /* a link to whose settings these are */
#define RUNDIR_USERS      "users"    /* a directory for each user */

/*
 * A user's directory is called by its number, in hexadecimal; that of the run
 * directory's owner is 0 where no BPF program keeps the numbers of all users.
 */
#define RUNDIR_OWNER       0u
#define RUNDIR_USER_DIGITS 6
/* Names inside of it. */
#define RUNDIR_STATUS      "status" /* nobody else can open what is in it */
#define RUNDIR_PEER        "peer"

/*
 * Absolute path of the run directory: $SMC_R_RUNDIR, else RUNDIR_DEFAULT.
 * Programs that gained privileges, and values that are not absolute paths,
 * get the default.
 */
const char *rundir_path(void);

/* Writes "<number>", or "<number>/<part>", and returns its end, a NUL. */
#define RUNDIR_USER_BYTES (RUNDIR_USER_DIGITS + sizeof("/" RUNDIR_STATUS))
char *rundir_user(char *out, uint32_t number, const char *part);
/* False for a name that is no user's directory. */
bool rundir_user_decode(const char *name, uint32_t *number);

/* The value of $SMC_R_RUNDIR that rundir_path does not take because it is no
 * absolute path; else NULL. For commands, which rather say so. */
const char *rundir_refused(void);

#endif
