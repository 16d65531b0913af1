/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_server: the states of the handshake machine that only a server has.
 */
#include "smc_r/protocol/clc_step.h"
#include "smc_r/protocol/reason.h"

struct clc_action clc_on_await_proposal(struct clc *c, enum clc_event event,
					const struct clc_input *in)
{
	switch (event) {
	case EVENT_PROPOSAL:
		clc_know_peer(c, in->message->proposal.peer_id);
		c->version = in->message->proposal.version > 1 ? 2 : 1;
		if (c->reason != REASON_NONE)
			return clc_take(clc_decline_to(c, CLC_LOOK), in);
		return clc_take(clc_go(c, CLC_PREPARE_ACCEPT, CLC_SEND_NOTHING,
				       CLC_PREPARE),
				in);
	case EVENT_FOREIGN:
		/* Data at once: nothing was sent, nothing taken, all is well.
		 * The client changed its mind, and knows why. */
		clc_set_reason(c, REASON_PEER_DECLINED);
		return clc_go_tcp(c);
	case EVENT_TIME:
		clc_set_reason(c, REASON_TIMEOUT);
		return clc_go(c, CLC_LATE, CLC_SEND_NOTHING, CLC_WAIT);
	case EVENT_ABORT:
		clc_set_reason(c, in->reason);
		if (in->reason == REASON_TIMEOUT)
			return clc_go(c, CLC_LATE, CLC_SEND_NOTHING, CLC_WAIT);
		return clc_stay(c);
	default:
		return clc_on_other(c, event, in);
	}
}

struct clc_action clc_on_prepare_accept(struct clc *c, enum clc_event event,
					const struct clc_input *in)
{
	struct clc_action action;

	switch (event) {
	case EVENT_COMMIT:
		action =
		    clc_go(c, CLC_AWAIT_CONFIRM, CLC_SEND_ACCEPT, CLC_WAIT);
		clc_set_deadline(c, in->now_ms, c->config.confirm_ms);
		return action;
	case EVENT_ABORT:
		clc_set_reason(c, in->reason);
		return clc_decline_to(c, CLC_LOOK);
	case EVENT_DECLINE:
		/* A Proposal has exactly one answer, and this is it. */
		action = clc_on_decline(c, in);
		action.send = CLC_SEND_DECLINE;
		return action;
	default:
		return clc_on_other(c, event, in);
	}
}

struct clc_action clc_on_await_confirm(struct clc *c, enum clc_event event,
				       const struct clc_input *in)
{
	uint32_t verdict;

	switch (event) {
	case EVENT_CONFIRM:
		verdict = clc_judge(c, &in->message->accept_confirm);
		if (verdict != REASON_NONE)
			return clc_fail(c, verdict);
		if (!c->wants_link)
			return clc_take(clc_go_smc(c, CLC_SEND_NOTHING), in);
		if (c->reason != REASON_NONE)
			return clc_take(clc_decline_to(c, CLC_LOOK), in);
		return clc_take(clc_await_link(c, CLC_SEND_NOTHING, in), in);
	case EVENT_TIME:
		return clc_fail(c, REASON_TIMEOUT);
	case EVENT_ABORT:
		clc_set_reason(c, in->reason);
		return clc_stay(c);
	default:
		return clc_on_other(c, event, in);
	}
}

/*
 * Nobody may be there to take a Decline, and data must not be held up for
 * ever. So the server sends what it has and still knows a Proposal when it
 * comes; the answer to it is a Decline, if that can still come first. If not,
 * the data is the answer; only a client of ours takes it for one.
 */
struct clc_action clc_on_late(struct clc *c, enum clc_event event,
			      const struct clc_input *in)
{
	switch (event) {
	case EVENT_PROPOSAL:
		if (c->wrote && !c->config.peer_is_ours)
			return clc_fail(c, REASON_TIMEOUT);
		clc_know_peer(c, in->message->proposal.peer_id);
		c->version = in->message->proposal.version > 1 ? 2 : 1;
		if (c->wrote)
			return clc_take(
			    clc_go(c, CLC_LOOK, CLC_SEND_NOTHING, CLC_WAIT),
			    in);
		return clc_take(clc_decline_to(c, CLC_LOOK), in);
	case EVENT_DECLINE:
		return clc_on_decline(c, in);
	default:
		return clc_on_data(c, event, in);
	}
}
