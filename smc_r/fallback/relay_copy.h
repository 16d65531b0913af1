/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_copy: a process that copies between two sockets.
 *
 * Locking: none; it shares nothing with the process that made it, but what a
 * hold names.
 */
#ifndef SMC_R_RELAY_COPY_H
#define SMC_R_RELAY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/memory/rings.h"
#include "smc_r/os/status.h"

/* Other processes hold the old connection as well, and read it. While they do,
 * nothing is brought from it; then what they left in the ring goes first. */
struct relay_hold {
	const _Atomic uint64_t *holders;   /* the slot's */
	const struct status_holder *entry; /* our entry in the slot's segment */
	uint64_t others;                   /* bits of both */
	const struct rings *rings;
	const struct rmb_producer *producer;
	uint32_t size;                /* bytes that may lie there */
	const _Atomic uint64_t *from; /* bytes of the ring, from one cursor */
	const _Atomic uint64_t *to;   /* ... and up to this one */
	bool shut;                    /* the program had shut its output */
};

/*
 * From now on, both ways, until both streams have ended: first these bytes to
 * `to`, then what comes from `from`; with a hold, as that says, and not a byte
 * before. What is there already has been copied when this returns, as far as
 * there is room. The caller keeps its descriptors. False: no process.
 */
bool relay_copy_start(int from, int to, const uint8_t *first, size_t bytes,
		      const struct relay_hold *hold);

#endif
