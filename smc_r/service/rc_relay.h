/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_relay: the service in the place of a program that left its connection to
 * somebody without the engine (far_relay.h): it copies between a TCP socket and
 * the rings, in the program's part of them.
 *
 * Ownership: the socket is the relay's.
 * Locking:   none; one thread. No call waits.
 */
#ifndef SMC_R_RC_RELAY_H
#define SMC_R_RC_RELAY_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

struct rc_relay {
	int fd;
	bool input_ended; /* nothing more comes from the successor */
	bool gone;        /* it has closed, or was reset */
	bool reset;
	bool end_told; /* the peer's end went to the socket */
};

/* Bytes in both directions, as far as there are any, and room. `near` is the
 * service's side; it may use the program's ring up to `released`, and has
 * `received` bytes for the program. True: something moved. */
bool rc_relay_move(struct rc_relay *r, struct connection *near,
		   uint64_t released, uint64_t received);

/* The peer's end: in order, behind the bytes; or a reset, at once. */
void rc_relay_end(struct rc_relay *r, const struct connection *near,
		  uint64_t received, bool reset);

#endif
