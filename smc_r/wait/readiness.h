/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * readiness: what poll() would say of a connection, from its cursors.
 *
 * Locking: none.
 *
 * Readiness uses what the last look found before it asks for the cursor's cache
 * line.
 */
#ifndef SMC_R_READINESS_H
#define SMC_R_READINESS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/connection/connection.h"

/* POLL* bits that hold now, at least those asked for and POLLERR and POLLHUP.
 * The bits equal those of epoll. *now (sys_now_ns) is 0 at first, and one for
 * all connections of a look: what the clock tells of them, it tells of the one
 * that began first no later than of the others, as programs expect. */
uint32_t readiness(struct connection *c, int fd, uint32_t asked, uint64_t *now);

/* Milliseconds until a timer changes the readiness, for output if it is asked
 * for; 0: it has, since the last look; -1: no timer. *now: 0 at first, and kept
 * from one connection to the next. */
int readiness_left_ms(struct connection *c, bool output, uint64_t *now);

/* Arms the bells for `events` so that a change from here on rings. The caller
 * looks at readiness again after a fence, or, when this returns true, after
 * barrier_all(). */
bool readiness_arm(struct connection *c, uint32_t events);

#endif
