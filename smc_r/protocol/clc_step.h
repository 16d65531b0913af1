/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_step: the inside of the handshake machine, for clc.c only: an event makes
 * it go on from its state.
 */
#ifndef SMC_R_CLC_STEP_H
#define SMC_R_CLC_STEP_H

#include "smc_r/protocol/clc.h"

enum clc_event {
	EVENT_START,
	EVENT_PROPOSAL,
	EVENT_ACCEPT,
	EVENT_CONFIRM,
	EVENT_DECLINE,
	EVENT_FOREIGN, /* the bytes are not, or will not be, a CLC message */
	EVENT_GARBLED, /* a CLC message that cannot be understood */
	EVENT_PARTIAL, /* the beginning of what may be a CLC message */
	EVENT_CLOSED,
	EVENT_TIME,
	EVENT_ABORT,
	EVENT_COMMIT,
};

struct clc_input {
	uint64_t now_ms;
	uint32_t reason;                   /* EVENT_ABORT */
	const struct clc_message *message; /* the four messages */
	const struct clc_proposal *offer;  /* EVENT_START */
	uint16_t bytes;                    /* length of the message */
};

/* Makes the move; clc_stay() of it says that there is nothing new. */
struct clc_action clc_step(struct clc *c, enum clc_event event,
			   const struct clc_input *in);
struct clc_action clc_stay(const struct clc *c);

#endif
