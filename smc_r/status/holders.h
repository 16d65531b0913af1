/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * holders: which processes use SMC connections now.
 *
 * rmdev and chdev ask this before they take the device away, and name the
 * processes in their messages.
 *
 * Ownership: the caller owns the array.
 * Locking:   none; the answer is a picture of one moment.
 */
#ifndef SMC_R_HOLDERS_H
#define SMC_R_HOLDERS_H

#include <sys/types.h>

#include "smc_r/os/status.h"

struct holder {
	pid_t pid;
	char program[STATUS_PROGRAM_MAX]; /* printable, ends with NUL */
	unsigned connections;             /* active or becoming so, not 0 */
};

/*
 * Living processes that hold a connection in STATUS_INIT, STATUS_ACTIVE or
 * STATUS_CLOSING, by growing pid. Returns their number, which may exceed max
 * (out then has the first max of them; out may be NULL when max is 0), or a
 * negative errno. A run directory that does not exist has none.
 */
int holders_list(const char *rundir, struct holder *out, int max);

#endif
