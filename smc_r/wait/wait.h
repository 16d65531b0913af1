/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wait: a thread that has nothing to read, or no room to write.
 *
 * First a bounded spin that learns whether it pays, then sleep on the bell.
 * Beside a peer that was last seen on our own core a spin gives the core away,
 * and there is none where a third one would take it.
 */
#ifndef SMC_R_WAIT_H
#define SMC_R_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "smc_r/connection/connection.h"
#include "smc_r/connection/sleepers.h"

/* A reader that found nothing, and may wait, calls it: true when that has
 * changed within a microsecond or two. It never sleeps. */
bool wait_briefly(struct connection *c);

/*
 * Waits until input_state is not INPUT_NONE / output_is_ready. timeout NULL:
 * for ever. 0: look again; -EINTR; -EAGAIN when the time is over. has_part: the
 * call has moved some bytes, so any handler ends it. Cancellation points, which
 * end the call. Afterwards the number may be another (connection_fd).
 */
int wait_for_input(struct connection *c, int fd, size_t need,
		   const struct timespec *timeout, bool has_part,
		   struct sleeper *call);
int wait_for_output(struct connection *c, int fd,
		    const struct timespec *timeout, bool has_part,
		    struct sleeper *call);

#endif
