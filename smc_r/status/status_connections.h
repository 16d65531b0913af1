/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_connections: the connections of this host, with the processes that
 * hold them. For commands.
 *
 * Ownership: a connection belongs to the callee only while it is called.
 * Locking:   none; each connection is a picture of one moment.
 */
#ifndef SMC_R_STATUS_CONNECTIONS_H
#define SMC_R_STATUS_CONNECTIONS_H

#include <sys/types.h>

#include "smc_r/os/status.h"

struct status_connection {
	struct status_slot slot; /* a copy; state is not STATUS_FREE */
	uid_t uid;
	pid_t maker; /* the process that made the segment, with its start */
	uint64_t maker_start;
	char program[STATUS_PROGRAM_MAX]; /* printable, ends with NUL */
	int holder_count;                 /* 1 .. STATUS_HOLDERS_MAX */
	pid_t holder[STATUS_HOLDERS_MAX]; /* living processes */
};

/*
 * Calls each() for every slot in use that a living process holds, matching
 * connections on TCP and listeners included; stops when it returns other than
 * 0, and returns that. Else 0 or a negative errno.
 */
int status_connections_each(const char *rundir,
			    int (*each)(void *owner,
					const struct status_connection *c),
			    void *owner);

#endif
