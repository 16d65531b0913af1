/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * far_begin: a connection to another host begins.
 *
 * The program has it with the link service, which is a process of this
 * host, over an element as any other; but TCP does not tell of the peer's end
 * (connection_is_far() in connection_ends.h). It is active at once: what the
 * program writes before the service and the peer have agreed lies in the
 * element. If they do not agree, the service asks for a seal as a peer that
 * goes back to TCP does, and tells why in the element.
 *
 * Locking: engine lock, and the connection's rx lock, held by the caller.
 */
#ifndef SMC_R_FAR_BEGIN_H
#define SMC_R_FAR_BEGIN_H

#include "smc_r/connection/connection.h"

enum far_begun {
	FAR_NO_SERVICE, /* the caller does what it does without one */
	FAR_BEGUN,      /* PHASE_ACTIVE */
	FAR_REFUSED,    /* for *reason (reason.h) */
};

/* TCP is connected and both ends agreed on CLC, of which nothing was said. */
enum far_begun far_begin(struct connection *c, int fd, uint32_t *reason);

#endif
