/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * handshake_timeout: for how long a write waits for the acceptor. For how long
 * a handshake hides that the program can write is in handshake.h; both learn
 * from the same answers. Nobody but handshake_wait.c includes it.
 *
 * Times are those of sys_now_ns. Locking: none.
 */
#ifndef SMC_R_HANDSHAKE_TIMEOUT_H
#define SMC_R_HANDSHAKE_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/connection/connection.h"

/* A write waits until then; wait: it may block. */
uint64_t handshake_write_until(const struct connection *c, bool wait);
/* It waits longer while the acceptor is at work. since: the write began to
 * wait. */
uint64_t handshake_write_on(const struct connection *c, uint64_t since,
			    uint64_t until);
/* It waited in vain. */
void handshake_write_missed(const struct connection *c, bool wait);

#endif
