/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_step: the moves that the states of the handshake machine share.
 */
#include "smc_r/protocol/clc_step.h"
#include "smc_r/protocol/reason.h"

#include <string.h>

void clc_set_reason(struct clc *c, uint32_t reason)
{
	if (c->reason == REASON_NONE)
		c->reason = reason;
}

struct clc_action clc_go(struct clc *c, enum clc_state state,
			 enum clc_send send, enum clc_next next)
{
	c->state = state;
	c->deadline_ms = 0;
	return (struct clc_action){.send = send, .next = next};
}

struct clc_action clc_stay(const struct clc *c)
{
	struct clc_action action = {.send = CLC_SEND_NOTHING};

	action.next = CLC_WAIT;
	if (c->state == CLC_ON_SMC)
		action.next = CLC_USE_SMC;
	if (c->state == CLC_ON_TCP)
		action.next = CLC_USE_TCP;
	if (c->state == CLC_FAILED)
		action.next = CLC_FAIL;
	return action;
}

struct clc_action clc_go_tcp(struct clc *c)
{
	return clc_go(c, CLC_ON_TCP, CLC_SEND_NOTHING, CLC_USE_TCP);
}

struct clc_action clc_go_smc(struct clc *c, enum clc_send send)
{
	return clc_go(c, CLC_ON_SMC, send, CLC_USE_SMC);
}

struct clc_action clc_decline_to_tcp(struct clc *c)
{
	return clc_go(c, CLC_ON_TCP, CLC_SEND_DECLINE, CLC_USE_TCP);
}

struct clc_action clc_decline_to(struct clc *c, enum clc_state state)
{
	return clc_go(c, state, CLC_SEND_DECLINE, CLC_WAIT);
}

struct clc_action clc_fail(struct clc *c, uint32_t reason)
{
	clc_set_reason(c, reason);
	return clc_go(c, CLC_FAILED, CLC_SEND_NOTHING, CLC_FAIL);
}

struct clc_action clc_take(struct clc_action action, const struct clc_input *in)
{
	action.take = in->bytes;
	return action;
}

void clc_set_deadline(struct clc *c, uint64_t now_ms, uint32_t wait_ms)
{
	c->deadline_ms = wait_ms ? now_ms + wait_ms : 0;
}

static struct clc_action clc_on_closed(struct clc *c)
{
	clc_set_reason(c, REASON_CLOSED);
	return clc_go_tcp(c);
}

struct clc_action clc_on_decline(struct clc *c, const struct clc_input *in)
{
	c->peer_reason = in->message->decline.reason;
	clc_set_reason(c, REASON_PEER_DECLINED);
	return clc_take(clc_go_tcp(c), in);
}

void clc_know_peer(struct clc *c, const uint8_t *peer_id)
{
	memcpy(c->peer_id, peer_id, CLC_PEER_ID_BYTES);
}

uint32_t clc_judge(const struct clc *c, const struct clc_accept_confirm *m)
{
	if (m->path != CLC_PATH_SMCR)
		return REASON_MODE_UNSUPPORTED;
	/* A server may well choose version 1 from a Proposal of version 2. */
	if (c->config.server && m->version > c->version)
		return REASON_MODE_UNSUPPORTED;
	if (!c->config.server &&
	    !(m->version == 1 ? c->offers_v1 : c->offers_v2))
		return REASON_MODE_UNSUPPORTED;
	if (m->token == 0 || m->index == 0)
		return REASON_MESSAGE;
	return REASON_NONE;
}

struct clc_action clc_await_link(struct clc *c, enum clc_send send,
				 const struct clc_input *in)
{
	struct clc_action action = clc_go(c, CLC_AWAIT_LINK, send, CLC_PREPARE);

	clc_set_deadline(c, in->now_ms, c->config.link_ms);
	return action;
}

struct clc_action clc_on_other(struct clc *c, enum clc_event event,
			       const struct clc_input *in)
{
	switch (event) {
	case EVENT_DECLINE:
		return clc_on_decline(c, in);
	case EVENT_CLOSED:
		return clc_on_closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return clc_fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_TIME:
	case EVENT_ABORT:
	case EVENT_COMMIT:
		break;
	}
	return clc_stay(c);
}

struct clc_action clc_on_data(struct clc *c, enum clc_event event,
			      const struct clc_input *in)
{
	switch (event) {
	case EVENT_PARTIAL:
		if (c->deadline_ms == 0)
			clc_set_deadline(c, in->now_ms, CLC_LOOK_MS);
		break;
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_DECLINE:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
	case EVENT_TIME:
	case EVENT_CLOSED:
		return clc_go_tcp(c);
	case EVENT_START:
	case EVENT_ABORT:
	case EVENT_COMMIT:
		break;
	}
	return clc_stay(c);
}
