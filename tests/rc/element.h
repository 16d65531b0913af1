/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * element: an element of shared memory that has both its sides in one process:
 * the link service's, and that of a program.
 *
 * Locking: takes the engine lock.
 */
#ifndef TESTS_RC_ELEMENT_H
#define TESTS_RC_ELEMENT_H

#include "smc_r/service/rc_pump.h"
#include "smc_r/stream/stream.h"

struct element {
	struct rmb rmb;   /* the service's */
	struct rmb other; /* the program's view of the same memory */
	struct status_slot slot;
	struct connection end; /* the program's */
};

/* Rings of so many bytes. Exits when there is no memory. */
void element_make(struct element *e, uint32_t rmbe);
/* The service's side is attached with rc_pump_init(). */
void element_attach(struct element *e, struct rc_pump *p);
void element_free(struct element *e);

/* Bytes of the program: how many, 0 for none now, or an error. */
ssize_t element_put(struct element *e, const void *from, size_t n);
ssize_t element_take(struct element *e, void *to, size_t n);
/* Is there something that the program has not read? */
bool element_is_unread(struct element *e);

#endif
