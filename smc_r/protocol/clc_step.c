/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_step: the states of the handshake machine, and the moves they share.
 *
 * A state is a function that takes an event and returns what to do. It names
 * the events that mean something of their own in it, and leaves the others to
 * on_other() or on_data(). Those name every event, so that the compiler finds
 * the one that was forgotten.
 */
#include "smc_r/protocol/clc_step.h"
#include "smc_r/protocol/reason.h"

#include <string.h>

/* The first reason is the one that counts. */
static void set_reason(struct clc *c, uint32_t reason)
{
	if (c->reason == REASON_NONE)
		c->reason = reason;
}

static struct clc_action go(struct clc *c, enum clc_state state,
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

static struct clc_action go_tcp(struct clc *c)
{
	return go(c, CLC_ON_TCP, CLC_SEND_NOTHING, CLC_USE_TCP);
}

static struct clc_action go_smc(struct clc *c, enum clc_send send)
{
	return go(c, CLC_ON_SMC, send, CLC_USE_SMC);
}

/* Declines, with the peer's stream known to be at application data. */
static struct clc_action decline_to_tcp(struct clc *c)
{
	return go(c, CLC_ON_TCP, CLC_SEND_DECLINE, CLC_USE_TCP);
}

/* Declines, with something of the peer's stream still to be skipped. */
static struct clc_action decline_to(struct clc *c, enum clc_state state)
{
	return go(c, state, CLC_SEND_DECLINE, CLC_WAIT);
}

static struct clc_action fail(struct clc *c, uint32_t reason)
{
	set_reason(c, reason);
	return go(c, CLC_FAILED, CLC_SEND_NOTHING, CLC_FAIL);
}

static struct clc_action take(struct clc_action action,
			      const struct clc_input *in)
{
	action.take = in->bytes;
	return action;
}

static void set_deadline(struct clc *c, uint64_t now_ms, uint32_t wait_ms)
{
	c->deadline_ms = wait_ms ? now_ms + wait_ms : 0;
}

static struct clc_action on_closed(struct clc *c)
{
	set_reason(c, REASON_CLOSED);
	return go_tcp(c);
}

static struct clc_action on_decline(struct clc *c, const struct clc_input *in)
{
	c->peer_reason = in->message->decline.reason;
	set_reason(c, REASON_PEER_DECLINED);
	return take(go_tcp(c), in);
}

static void know_peer(struct clc *c, const uint8_t *peer_id)
{
	memcpy(c->peer_id, peer_id, CLC_PEER_ID_BYTES);
}

/* What is wrong with the values in the peer's Accept or Confirm. */
static uint32_t judge(const struct clc *c, const struct clc_accept_confirm *m)
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

static struct clc_action await_link(struct clc *c, enum clc_send send,
				    const struct clc_input *in)
{
	struct clc_action action = go(c, CLC_AWAIT_LINK, send, CLC_PREPARE);

	set_deadline(c, in->now_ms, c->config.link_ms);
	return action;
}

/* An event that means the same in most states: what the peer sends is out of
 * turn, but it may decline and close. */
static struct clc_action on_other(struct clc *c, enum clc_event event,
				  const struct clc_input *in)
{
	switch (event) {
	case EVENT_DECLINE:
		return on_decline(c, in);
	case EVENT_CLOSED:
		return on_closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_TIME:
	case EVENT_ABORT:
	case EVENT_COMMIT:
		break;
	}
	return clc_stay(c);
}

/* An event where what the peer sends is data, which stays where it is. */
static struct clc_action on_data(struct clc *c, enum clc_event event,
				 const struct clc_input *in)
{
	switch (event) {
	case EVENT_PARTIAL:
		if (c->deadline_ms == 0)
			set_deadline(c, in->now_ms, CLC_LOOK_MS);
		break;
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_DECLINE:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
	case EVENT_TIME:
	case EVENT_CLOSED:
		return go_tcp(c);
	case EVENT_START:
	case EVENT_ABORT:
	case EVENT_COMMIT:
		break;
	}
	return clc_stay(c);
}

/* ---- states of a client ---- */

static bool offers_smcr(uint8_t path)
{
	return path == CLC_PATH_SMCR || path == CLC_PATH_BOTH;
}

static struct clc_action on_start(struct clc *c, enum clc_event event,
				  const struct clc_input *in)
{
	struct clc_action action;

	switch (event) {
	case EVENT_START:
		c->version = in->offer->version > 1 ? 2 : 1;
		c->offers_v1 = offers_smcr(in->offer->path_v1);
		c->offers_v2 = offers_smcr(in->offer->path_v2);
		action = go(c, CLC_AWAIT_ACCEPT, CLC_SEND_PROPOSAL, CLC_WAIT);
		set_deadline(c, in->now_ms, c->config.answer_ms);
		return action;
	case EVENT_ABORT:
		/* A server answers this with nothing. */
		set_reason(c, in->reason);
		return decline_to_tcp(c);
	case EVENT_FOREIGN:
		/* The peer sends data already, and got nothing of ours. */
		set_reason(c, REASON_MESSAGE);
		return go_tcp(c);
	case EVENT_DECLINE:
		return fail(c, REASON_MESSAGE);
	default:
		return on_other(c, event, in);
	}
}

static struct clc_action on_await_accept(struct clc *c, enum clc_event event,
					 const struct clc_input *in)
{
	const struct clc_accept_confirm *m;

	switch (event) {
	case EVENT_ACCEPT:
		m = &in->message->accept_confirm;
		set_reason(c, judge(c, m));
		if (m->version <= c->version)
			c->version = m->version;
		if (c->reason != REASON_NONE)
			return take(decline_to_tcp(c), in);
		know_peer(c, m->peer_id);
		return take(
		    go(c, CLC_PREPARE_CONFIRM, CLC_SEND_NOTHING, CLC_PREPARE),
		    in);
	case EVENT_TIME:
		set_reason(c, REASON_TIMEOUT);
		return decline_to(c, CLC_SKIP_ANSWER);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		if (c->config.peer_is_ours)
			return decline_to(c, CLC_SKIP_ANSWER);
		return clc_stay(c);
	case EVENT_FOREIGN:
		/* Data of a server that did not get our Proposal in time. */
		if (!c->config.peer_is_ours)
			return fail(c, REASON_MESSAGE);
		set_reason(c, REASON_TIMEOUT);
		return go_tcp(c);
	default:
		return on_other(c, event, in);
	}
}

static struct clc_action on_prepare_confirm(struct clc *c, enum clc_event event,
					    const struct clc_input *in)
{
	switch (event) {
	case EVENT_COMMIT:
		if (c->wants_link)
			return await_link(c, CLC_SEND_CONFIRM, in);
		return go_smc(c, CLC_SEND_CONFIRM);
	case EVENT_ABORT:
		/* The server waits for our word: its Decline cannot cross. */
		set_reason(c, in->reason);
		return decline_to_tcp(c);
	default:
		return on_other(c, event, in);
	}
}

static struct clc_action on_skip_answer(struct clc *c, enum clc_event event,
					const struct clc_input *in)
{
	switch (event) {
	case EVENT_ACCEPT:
		return take(go_tcp(c), in);
	case EVENT_FOREIGN:
		/* A server that saw our end first does not answer. */
		return go_tcp(c);
	default:
		return on_other(c, event, in);
	}
}

/* ---- states of a server ---- */

static struct clc_action on_await_proposal(struct clc *c, enum clc_event event,
					   const struct clc_input *in)
{
	switch (event) {
	case EVENT_PROPOSAL:
		know_peer(c, in->message->proposal.peer_id);
		c->version = in->message->proposal.version > 1 ? 2 : 1;
		if (c->reason != REASON_NONE)
			return take(decline_to(c, CLC_LOOK), in);
		return take(
		    go(c, CLC_PREPARE_ACCEPT, CLC_SEND_NOTHING, CLC_PREPARE),
		    in);
	case EVENT_FOREIGN:
		/* Data at once: nothing was sent, nothing taken, all is well.
		 * The client changed its mind, and knows why. */
		set_reason(c, REASON_PEER_DECLINED);
		return go_tcp(c);
	case EVENT_TIME:
		set_reason(c, REASON_TIMEOUT);
		return go(c, CLC_LATE, CLC_SEND_NOTHING, CLC_WAIT);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		if (in->reason == REASON_TIMEOUT)
			return go(c, CLC_LATE, CLC_SEND_NOTHING, CLC_WAIT);
		return clc_stay(c);
	default:
		return on_other(c, event, in);
	}
}

static struct clc_action on_prepare_accept(struct clc *c, enum clc_event event,
					   const struct clc_input *in)
{
	struct clc_action action;

	switch (event) {
	case EVENT_COMMIT:
		action = go(c, CLC_AWAIT_CONFIRM, CLC_SEND_ACCEPT, CLC_WAIT);
		set_deadline(c, in->now_ms, c->config.confirm_ms);
		return action;
	case EVENT_ABORT:
		set_reason(c, in->reason);
		return decline_to(c, CLC_LOOK);
	case EVENT_DECLINE:
		/* A Proposal has exactly one answer, and this is it. */
		action = on_decline(c, in);
		action.send = CLC_SEND_DECLINE;
		return action;
	default:
		return on_other(c, event, in);
	}
}

static struct clc_action on_await_confirm(struct clc *c, enum clc_event event,
					  const struct clc_input *in)
{
	uint32_t verdict;

	switch (event) {
	case EVENT_CONFIRM:
		verdict = judge(c, &in->message->accept_confirm);
		if (verdict != REASON_NONE)
			return fail(c, verdict);
		if (!c->wants_link)
			return take(go_smc(c, CLC_SEND_NOTHING), in);
		if (c->reason != REASON_NONE)
			return take(decline_to(c, CLC_LOOK), in);
		return take(await_link(c, CLC_SEND_NOTHING, in), in);
	case EVENT_TIME:
		return fail(c, REASON_TIMEOUT);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		return clc_stay(c);
	default:
		return on_other(c, event, in);
	}
}

/*
 * Nobody may be there to take a Decline, and data must not be held up for
 * ever. So the server sends what it has and still knows a Proposal when it
 * comes; the answer to it is a Decline, if that can still come first. If not,
 * the data is the answer; only a client of ours takes it for one.
 */
static struct clc_action on_late(struct clc *c, enum clc_event event,
				 const struct clc_input *in)
{
	switch (event) {
	case EVENT_PROPOSAL:
		if (c->wrote && !c->config.peer_is_ours)
			return fail(c, REASON_TIMEOUT);
		know_peer(c, in->message->proposal.peer_id);
		c->version = in->message->proposal.version > 1 ? 2 : 1;
		if (c->wrote)
			return take(go(c, CLC_LOOK, CLC_SEND_NOTHING, CLC_WAIT),
				    in);
		return take(decline_to(c, CLC_LOOK), in);
	case EVENT_DECLINE:
		return on_decline(c, in);
	default:
		return on_data(c, event, in);
	}
}

/* ---- states of both ---- */

static struct clc_action on_await_link(struct clc *c, enum clc_event event,
				       const struct clc_input *in)
{
	switch (event) {
	case EVENT_COMMIT:
		return go_smc(c, CLC_SEND_NOTHING);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		return decline_to(c, CLC_LOOK);
	case EVENT_TIME:
		set_reason(c, REASON_TIMEOUT_CONFIRM_LINK);
		return decline_to(c, CLC_LOOK);
	default:
		return on_other(c, event, in);
	}
}

/* Whatever is not the peer's Decline is data, and stays where it is. */
static struct clc_action on_look(struct clc *c, enum clc_event event,
				 const struct clc_input *in)
{
	if (event == EVENT_DECLINE &&
	    memcmp(in->message->decline.peer_id, c->peer_id,
		   CLC_PEER_ID_BYTES) == 0)
		return on_decline(c, in);
	return on_data(c, event, in);
}

/* Nothing may come on the TCP stream while the data goes another way. */
static struct clc_action on_smc(struct clc *c, enum clc_event event,
				const struct clc_input *in)
{
	(void)in;
	switch (event) {
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_DECLINE:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
	case EVENT_PARTIAL:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_CLOSED:
	case EVENT_TIME:
	case EVENT_ABORT:
	case EVENT_COMMIT:
		break;
	}
	return clc_stay(c);
}

struct clc_action clc_step(struct clc *c, enum clc_event event,
			   const struct clc_input *in)
{
	static struct clc_action (*const on[CLC_STATE_COUNT])(
	    struct clc *, enum clc_event, const struct clc_input *) = {
	    [CLC_START] = on_start,
	    [CLC_AWAIT_ACCEPT] = on_await_accept,
	    [CLC_PREPARE_CONFIRM] = on_prepare_confirm,
	    [CLC_AWAIT_PROPOSAL] = on_await_proposal,
	    [CLC_PREPARE_ACCEPT] = on_prepare_accept,
	    [CLC_AWAIT_CONFIRM] = on_await_confirm,
	    [CLC_AWAIT_LINK] = on_await_link,
	    [CLC_SKIP_ANSWER] = on_skip_answer,
	    [CLC_LATE] = on_late,
	    [CLC_LOOK] = on_look,
	    [CLC_ON_SMC] = on_smc,
	};

	return on[c->state] ? on[c->state](c, event, in) : clc_stay(c);
}
