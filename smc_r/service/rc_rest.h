/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_rest: what a program wrote before its connection fell back to TCP, sent by
 * the service in its place. The word `rest` of the element (rmb.h) keeps the
 * two apart; it is held for calls that do not wait.
 *
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_REST_H
#define SMC_R_RC_REST_H

#include "smc_r/connection/connection.h"

enum rc_rest {
	RC_REST_LEFT, /* TCP is full, or the program is at it */
	RC_REST_SENT, /* all that is there; and the end, if it was told */
};

/* near: the service's side, frozen. A socket that takes nothing any more has
 * taken all. */
enum rc_rest rc_rest_send(struct connection *near, int tcp);

#endif
