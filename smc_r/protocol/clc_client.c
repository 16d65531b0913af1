/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_client: the states of the handshake machine that only a client has.
 */
#include "smc_r/protocol/clc_step.h"
#include "smc_r/protocol/reason.h"

static bool offers_smcr(uint8_t path)
{
	return path == CLC_PATH_SMCR || path == CLC_PATH_BOTH;
}

struct clc_action clc_on_start(struct clc *c, enum clc_event event,
			       const struct clc_input *in)
{
	struct clc_action action;

	switch (event) {
	case EVENT_START:
		c->version = in->offer->version > 1 ? 2 : 1;
		c->offers_v1 = offers_smcr(in->offer->path_v1);
		c->offers_v2 = offers_smcr(in->offer->path_v2);
		action =
		    clc_go(c, CLC_AWAIT_ACCEPT, CLC_SEND_PROPOSAL, CLC_WAIT);
		clc_set_deadline(c, in->now_ms, c->config.answer_ms);
		return action;
	case EVENT_ABORT:
		/* A server answers this with nothing. */
		clc_set_reason(c, in->reason);
		return clc_decline_to_tcp(c);
	case EVENT_FOREIGN:
		/* The peer sends data already, and got nothing of ours. */
		clc_set_reason(c, REASON_MESSAGE);
		return clc_go_tcp(c);
	case EVENT_DECLINE:
		return clc_fail(c, REASON_MESSAGE);
	default:
		return clc_on_other(c, event, in);
	}
}

struct clc_action clc_on_await_accept(struct clc *c, enum clc_event event,
				      const struct clc_input *in)
{
	const struct clc_accept_confirm *m;

	switch (event) {
	case EVENT_ACCEPT:
		m = &in->message->accept_confirm;
		clc_set_reason(c, clc_judge(c, m));
		if (m->version <= c->version)
			c->version = m->version;
		if (c->reason != REASON_NONE)
			return clc_take(clc_decline_to_tcp(c), in);
		clc_know_peer(c, m->peer_id);
		return clc_take(clc_go(c, CLC_PREPARE_CONFIRM, CLC_SEND_NOTHING,
				       CLC_PREPARE),
				in);
	case EVENT_TIME:
		clc_set_reason(c, REASON_TIMEOUT);
		return clc_decline_to(c, CLC_SKIP_ANSWER);
	case EVENT_ABORT:
		clc_set_reason(c, in->reason);
		if (c->config.peer_is_ours)
			return clc_decline_to(c, CLC_SKIP_ANSWER);
		return clc_stay(c);
	case EVENT_FOREIGN:
		/* Data of a server that did not get our Proposal in time. */
		if (!c->config.peer_is_ours)
			return clc_fail(c, REASON_MESSAGE);
		clc_set_reason(c, REASON_TIMEOUT);
		return clc_go_tcp(c);
	default:
		return clc_on_other(c, event, in);
	}
}

struct clc_action clc_on_prepare_confirm(struct clc *c, enum clc_event event,
					 const struct clc_input *in)
{
	switch (event) {
	case EVENT_COMMIT:
		if (c->wants_link)
			return clc_await_link(c, CLC_SEND_CONFIRM, in);
		return clc_go_smc(c, CLC_SEND_CONFIRM);
	case EVENT_ABORT:
		/* The server waits for our word: its Decline cannot cross. */
		clc_set_reason(c, in->reason);
		return clc_decline_to_tcp(c);
	default:
		return clc_on_other(c, event, in);
	}
}

struct clc_action clc_on_skip_answer(struct clc *c, enum clc_event event,
				     const struct clc_input *in)
{
	switch (event) {
	case EVENT_ACCEPT:
		return clc_take(clc_go_tcp(c), in);
	case EVENT_FOREIGN:
		/* A server that saw our end first does not answer. */
		return clc_go_tcp(c);
	default:
		return clc_on_other(c, event, in);
	}
}
