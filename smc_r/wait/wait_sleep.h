/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wait_sleep: the sleeps of a thread that waits in a call (wait.h): on its bell
 * or a bell monitor; on TCP, when nobody can ring any more; or by the clock,
 * when another thread takes the rings.
 *
 * Locking: none. The caller is counted among the sleepers (sleepers.h).
 */
#ifndef SMC_R_WAIT_SLEEP_H
#define SMC_R_WAIT_SLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "smc_r/connection/connection.h"

/* The sleeps of one wait. */
struct wait_sleep {
	bool has_part; /* the call has moved some of its bytes */
	bool limited;
	uint64_t end_ns;      /* sys_now_ns, if it is */
	struct timespec left; /* when the sleep began */
	unsigned slice_ms;    /* length of the next sleep by the clock */
	bool rung;            /* the last one of those was ended by a ring */
};

/* timeout NULL: for ever. */
void wait_sleep_begin(struct wait_sleep *s, const struct timespec *timeout,
		      bool has_part);

/* Sleeps once; first: this thread is the first sleeper of its bell. 0: look
 * again; -EINTR; -EAGAIN when the time is over, or the call may not wait.
 * Cancellation points. */
int wait_sleep_for_bytes(struct connection *c, int fd, bool first,
			 struct wait_sleep *s);
/* Sleeps at most as long as a stall may last (stall.h); 0 also when that is
 * over. */
int wait_sleep_for_room(struct connection *c, int fd, bool first,
			struct wait_sleep *s);

#endif
