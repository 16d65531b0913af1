/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_step: the inside of the handshake machine: its events, its states, and
 * the moves they share. For clc.c, clc_client.c and clc_server.c only.
 *
 * A state is a function that takes an event and returns what to do. It names
 * the events that mean something of their own in it, and leaves the others to
 * clc_on_other() or clc_on_data(). Those name every event, so that the compiler
 * finds the one that was forgotten.
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

/* The first reason is the one that counts. */
void clc_set_reason(struct clc *c, uint32_t reason);
struct clc_action clc_go(struct clc *c, enum clc_state state,
			 enum clc_send send, enum clc_next next);
/* Nothing new. */
struct clc_action clc_stay(const struct clc *c);
struct clc_action clc_go_tcp(struct clc *c);
struct clc_action clc_go_smc(struct clc *c, enum clc_send send);
/* Declines, with the peer's stream known to be at application data. */
struct clc_action clc_decline_to_tcp(struct clc *c);
/* Declines, with something of the peer's stream still to be skipped. */
struct clc_action clc_decline_to(struct clc *c, enum clc_state state);
struct clc_action clc_fail(struct clc *c, uint32_t reason);
struct clc_action clc_take(struct clc_action action,
			   const struct clc_input *in);
void clc_set_deadline(struct clc *c, uint64_t now_ms, uint32_t wait_ms);
struct clc_action clc_on_decline(struct clc *c, const struct clc_input *in);
void clc_know_peer(struct clc *c, const uint8_t *peer_id);
/* What is wrong with the values in the peer's Accept or Confirm. */
uint32_t clc_judge(const struct clc *c, const struct clc_accept_confirm *m);
struct clc_action clc_await_link(struct clc *c, enum clc_send send,
				 const struct clc_input *in);
/* An event that means the same in most states: what the peer sends is out of
 * turn, but it may decline and close. */
struct clc_action clc_on_other(struct clc *c, enum clc_event event,
			       const struct clc_input *in);
/* An event where what the peer sends is data, which stays where it is. */
struct clc_action clc_on_data(struct clc *c, enum clc_event event,
			      const struct clc_input *in);

/* ---- states of one side ---- */

struct clc_action clc_on_start(struct clc *c, enum clc_event event,
			       const struct clc_input *in);
struct clc_action clc_on_await_accept(struct clc *c, enum clc_event event,
				      const struct clc_input *in);
struct clc_action clc_on_prepare_confirm(struct clc *c, enum clc_event event,
					 const struct clc_input *in);
struct clc_action clc_on_skip_answer(struct clc *c, enum clc_event event,
				     const struct clc_input *in);
struct clc_action clc_on_await_proposal(struct clc *c, enum clc_event event,
					const struct clc_input *in);
struct clc_action clc_on_prepare_accept(struct clc *c, enum clc_event event,
					const struct clc_input *in);
struct clc_action clc_on_await_confirm(struct clc *c, enum clc_event event,
				       const struct clc_input *in);
struct clc_action clc_on_late(struct clc *c, enum clc_event event,
			      const struct clc_input *in);

#endif
