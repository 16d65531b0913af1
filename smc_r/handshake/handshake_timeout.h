/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * handshake_timeout: what the clock says of a handshake (handshake_clock.h),
 * from what this process knows of the connection and of its port. Nobody but
 * handshake.c and handshake_wait.c includes it.
 *
 * Times are those of sys_now_ns. Locking: none, but for handshake_look_output.
 */
#ifndef SMC_R_HANDSHAKE_TIMEOUT_H
#define SMC_R_HANDSHAKE_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/connection/connection.h"
#include "smc_r/protocol/handshake_clock.h"

/* The handshake begins: would this process have to accept it? */
void handshake_note_own(struct connection *c);
/* The acceptor has answered. */
void handshake_note_answer(const struct connection *c, uint64_t now);
/* A wait that was as long as a write's was in vain. */
void handshake_note_timeout(const struct connection *c, uint64_t now);

/* What a question is judged by that begins now. */
struct handshake_clock handshake_clock_of(const struct connection *c,
					  enum handshake_asker asker,
					  uint64_t now);

/* A poll asks whether the program can write, and tells what this says. Engine
 * lock held. */
enum handshake_turn handshake_look_output(struct connection *c, uint64_t now);

#endif
