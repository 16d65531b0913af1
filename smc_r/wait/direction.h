/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * direction: what there is for a call that reads, or writes.
 *
 * Locking: none of its own; what a demotion takes (demote.h).
 */
#ifndef SMC_R_DIRECTION_H
#define SMC_R_DIRECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "smc_r/connection/connection.h"

/* The reader finds one of these when the ring gave nothing. */
enum input {
	INPUT_DATA,   /* bytes came meanwhile, or enough of them */
	INPUT_NONE,   /* wait */
	INPUT_END,    /* end of file */
	INPUT_KERNEL, /* this direction is the kernel's now */
	INPUT_ERROR,  /* the peer broke the rules */
};

/* Looks at the cursors alone; for a caller that is told of the peer's end
 * otherwise. */
enum input input_look(struct connection *c, int fd, size_t need);
/* Looks for a call that would wait: also wakes a writer that sleeps, and asks
 * the kernel now and then whether the peer still lives. */
enum input input_state(struct connection *c, int fd, size_t need);

/* The bytes that a reader waits for (SO_RCVLOWAT): at least one, then at
 * most so many. */
size_t input_low_water(const struct connection *c, int fd, size_t most);

/* True when the writer should look again: room, or no ring any more. */
bool output_is_ready(struct connection *c, int fd);

/* The peer wants this end to go back to TCP: the caller must see to that. */
bool demotion_is_due(const struct connection *c);

#endif
