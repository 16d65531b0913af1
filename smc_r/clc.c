/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc: the handshake of one connection as a machine.
 */
#include "clc.h"
#include "reason.h"

#include <errno.h>
#include <string.h>

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

const char *clc_state_name(int state)
{
	static const char *const names[] = {
	    [CLC_START] = "start",
	    [CLC_AWAIT_ACCEPT] = "await accept",
	    [CLC_PREPARE_CONFIRM] = "prepare confirm",
	    [CLC_AWAIT_PROPOSAL] = "await proposal",
	    [CLC_PREPARE_ACCEPT] = "prepare accept",
	    [CLC_AWAIT_CONFIRM] = "await confirm",
	    [CLC_AWAIT_LINK] = "await link",
	    [CLC_SKIP_ANSWER] = "skip answer",
	    [CLC_SKIP_PROPOSAL] = "skip proposal",
	    [CLC_LOOK] = "look",
	    [CLC_ON_SMC] = "on smc",
	    [CLC_ON_TCP] = "on tcp",
	    [CLC_FAILED] = "failed",
	};

	if (state < 0 || state >= CLC_STATE_COUNT)
		return "unknown";
	return names[state];
}

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

/* Nothing new. */
static struct clc_action stay(const struct clc *c)
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

static struct clc_action closed(struct clc *c)
{
	set_reason(c, REASON_CLOSED);
	return go_tcp(c);
}

static struct clc_action declined(struct clc *c, const struct clc_input *in)
{
	c->peer_reason = in->message->decline.reason;
	set_reason(c, REASON_PEER_DECLINED);
	return take(go_tcp(c), in);
}

static void know_peer(struct clc *c, const uint8_t *peer_id)
{
	memcpy(c->peer_id, peer_id, CLC_PEER_ID_BYTES);
	c->knows_peer = true;
}

/* ---- client ---- */

static struct clc_action on_start(struct clc *c, enum clc_event event,
				  const struct clc_input *in)
{
	struct clc_action action;

	switch (event) {
	case EVENT_START:
		c->version = in->offer->version > 1 ? 2 : 1;
		c->offers_v1 = in->offer->path_v1 == CLC_PATH_SMCR;
		c->offers_v2 = in->offer->path_v2 == CLC_PATH_SMCR;
		action = go(c, CLC_AWAIT_ACCEPT, CLC_SEND_PROPOSAL, CLC_WAIT);
		set_deadline(c, in->now_ms, c->config.answer_ms);
		return action;
	case EVENT_ABORT:
		set_reason(c, in->reason);
		return decline_to(c, CLC_LOOK);
	case EVENT_DECLINE:
		/* The server declined early and waits for a first message. */
		action = declined(c, in);
		action.send = CLC_SEND_DECLINE;
		return action;
	case EVENT_FOREIGN:
		/* The peer sends data already, and got nothing of ours. */
		set_reason(c, REASON_MESSAGE);
		return go_tcp(c);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_PARTIAL:
	case EVENT_TIME:
	case EVENT_COMMIT:
		break;
	}
	return stay(c);
}

/* What is wrong with the values in the peer's Accept or Confirm. */
static uint32_t judge(const struct clc *c, const struct clc_accept_confirm *m)
{
	if (m->path != CLC_PATH_SMCR)
		return REASON_MODE_UNSUPPORTED;
	if (c->config.server && m->version != c->version)
		return REASON_MODE_UNSUPPORTED;
	if (!c->config.server &&
	    !(m->version == 1 ? c->offers_v1 : c->offers_v2))
		return REASON_MODE_UNSUPPORTED;
	if (m->token == 0 || m->index == 0)
		return REASON_MESSAGE;
	return REASON_NONE;
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
	case EVENT_DECLINE:
		return declined(c, in);
	case EVENT_TIME:
		set_reason(c, REASON_TIMEOUT);
		return decline_to(c, CLC_SKIP_ANSWER);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		if (c->config.peer_is_ours)
			return decline_to(c, CLC_SKIP_ANSWER);
		return stay(c);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_COMMIT:
		break;
	}
	return stay(c);
}

static struct clc_action await_link(struct clc *c, enum clc_send send,
				    const struct clc_input *in)
{
	struct clc_action action = go(c, CLC_AWAIT_LINK, send, CLC_PREPARE);

	set_deadline(c, in->now_ms, c->config.link_ms);
	return action;
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
	case EVENT_DECLINE:
		return declined(c, in);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_TIME:
		break;
	}
	return stay(c);
}

/* ---- server ---- */

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
	case EVENT_DECLINE:
		return declined(c, in);
	case EVENT_FOREIGN:
		/* Data at once: nothing was sent, nothing taken, all is well.
		 */
		set_reason(c, REASON_MESSAGE);
		return go_tcp(c);
	case EVENT_TIME:
		set_reason(c, REASON_TIMEOUT);
		return decline_to(c, CLC_SKIP_PROPOSAL);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		if (c->config.peer_is_ours)
			return decline_to(c, CLC_SKIP_PROPOSAL);
		return stay(c);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_COMMIT:
		break;
	}
	return stay(c);
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
		action = declined(c, in);
		action.send = CLC_SEND_DECLINE;
		return action;
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_TIME:
		break;
	}
	return stay(c);
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
	case EVENT_DECLINE:
		return declined(c, in);
	case EVENT_TIME:
		return fail(c, REASON_TIMEOUT);
	case EVENT_ABORT:
		set_reason(c, in->reason);
		return stay(c);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
	case EVENT_COMMIT:
		break;
	}
	return stay(c);
}

/* ---- both ---- */

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
	case EVENT_DECLINE:
		return declined(c, in);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
		return fail(c, REASON_MESSAGE);
	case EVENT_START:
	case EVENT_PARTIAL:
		break;
	}
	return stay(c);
}

static struct clc_action on_skip_answer(struct clc *c, enum clc_event event,
					const struct clc_input *in)
{
	switch (event) {
	case EVENT_ACCEPT:
		return take(go_tcp(c), in);
	case EVENT_DECLINE:
		return declined(c, in);
	case EVENT_CLOSED:
		return closed(c);
	case EVENT_PROPOSAL:
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
	return stay(c);
}

static struct clc_action on_skip_proposal(struct clc *c, enum clc_event event,
					  const struct clc_input *in)
{
	switch (event) {
	case EVENT_PROPOSAL:
		know_peer(c, in->message->proposal.peer_id);
		return take(go(c, CLC_LOOK, CLC_SEND_NOTHING, CLC_WAIT), in);
	case EVENT_DECLINE:
		/*
		 * Our Decline crossed this one. A peer of ours looks for it;
		 * another one has read it as data, which must not go on.
		 */
		if (!c->config.peer_is_ours)
			return fail(c, REASON_MESSAGE);
		return declined(c, in);
	case EVENT_CLOSED:
		return closed(c);
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
	return stay(c);
}

/* Whatever is not the peer's Decline is data, and stays where it is. */
static struct clc_action on_look(struct clc *c, enum clc_event event,
				 const struct clc_input *in)
{
	switch (event) {
	case EVENT_DECLINE:
		if (c->knows_peer && memcmp(in->message->decline.peer_id,
					    c->peer_id, CLC_PEER_ID_BYTES) != 0)
			return go_tcp(c);
		return declined(c, in);
	case EVENT_PARTIAL:
		if (c->deadline_ms == 0)
			set_deadline(c, in->now_ms, CLC_LOOK_MS);
		return stay(c);
	case EVENT_PROPOSAL:
	case EVENT_ACCEPT:
	case EVENT_CONFIRM:
	case EVENT_FOREIGN:
	case EVENT_GARBLED:
	case EVENT_TIME:
	case EVENT_ABORT:
	case EVENT_CLOSED:
		return go_tcp(c);
	case EVENT_START:
	case EVENT_COMMIT:
		break;
	}
	return stay(c);
}

/* Nothing may come on the TCP stream while the data goes another way. */
static struct clc_action on_smc(struct clc *c, enum clc_event event)
{
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
	return stay(c);
}

static struct clc_action step(struct clc *c, enum clc_event event,
			      const struct clc_input *in)
{
	switch (c->state) {
	case CLC_START:
		return on_start(c, event, in);
	case CLC_AWAIT_ACCEPT:
		return on_await_accept(c, event, in);
	case CLC_PREPARE_CONFIRM:
		return on_prepare_confirm(c, event, in);
	case CLC_AWAIT_PROPOSAL:
		return on_await_proposal(c, event, in);
	case CLC_PREPARE_ACCEPT:
		return on_prepare_accept(c, event, in);
	case CLC_AWAIT_CONFIRM:
		return on_await_confirm(c, event, in);
	case CLC_AWAIT_LINK:
		return on_await_link(c, event, in);
	case CLC_SKIP_ANSWER:
		return on_skip_answer(c, event, in);
	case CLC_SKIP_PROPOSAL:
		return on_skip_proposal(c, event, in);
	case CLC_LOOK:
		return on_look(c, event, in);
	case CLC_ON_SMC:
		return on_smc(c, event);
	case CLC_ON_TCP:
	case CLC_FAILED:
	case CLC_STATE_COUNT:
		break;
	}
	return stay(c);
}

void clc_init(struct clc *c, const struct clc_config *config, uint64_t now_ms)
{
	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->version = 1;
	c->state = CLC_START;
	if (config->server) {
		c->state = CLC_AWAIT_PROPOSAL;
		set_deadline(c, now_ms, config->answer_ms);
	}
}

struct clc_action clc_start(struct clc *c, const struct clc_proposal *proposal,
			    uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms, .offer = proposal};

	return step(c, EVENT_START, &in);
}

static enum clc_event event_of(int type)
{
	static const enum clc_event events[] = {
	    [CLC_PROPOSAL] = EVENT_PROPOSAL,
	    [CLC_ACCEPT] = EVENT_ACCEPT,
	    [CLC_CONFIRM] = EVENT_CONFIRM,
	    [CLC_DECLINE] = EVENT_DECLINE,
	};

	return events[type];
}

struct clc_action clc_feed(struct clc *c, const uint8_t *bytes, size_t n,
			   struct clc_message *message, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms, .message = message};
	int length = clc_peek_length(bytes, n);

	if (n == 0)
		return stay(c);
	if (length == -EAGAIN || length > (int)n)
		return step(c, EVENT_PARTIAL, &in);
	if (length < 0)
		return step(c, EVENT_FOREIGN, &in);
	if (clc_decode(message, bytes, (size_t)length) != 0)
		return step(c, EVENT_GARBLED, &in);
	in.bytes = (uint16_t)length;
	return step(c, event_of(message->type), &in);
}

struct clc_action clc_closed(struct clc *c)
{
	struct clc_input in = {0};

	return step(c, EVENT_CLOSED, &in);
}

struct clc_action clc_time(struct clc *c, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms};

	if (c->deadline_ms == 0 || now_ms < c->deadline_ms)
		return stay(c);
	return step(c, EVENT_TIME, &in);
}

struct clc_action clc_abort(struct clc *c, uint32_t reason, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms, .reason = reason};

	return step(c, EVENT_ABORT, &in);
}

struct clc_action clc_commit(struct clc *c, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms};

	return step(c, EVENT_COMMIT, &in);
}

void clc_want_link(struct clc *c)
{
	c->wants_link = true;
}

void clc_decline(const struct clc *c, struct clc_decline *out)
{
	memset(out, 0, sizeof(*out));
	out->version = c->version;
	out->reason = c->reason;
	/* A server that sets the flag brings old Linux clients down. */
	out->out_of_sync = !c->config.server && c->reason == REASON_SYNC;
	out->os = CLC_OS_UNKNOWN;
}

bool clc_can_write(const struct clc *c)
{
	return c->state == CLC_SKIP_ANSWER || c->state == CLC_SKIP_PROPOSAL ||
	       c->state == CLC_LOOK || c->state == CLC_ON_TCP;
}

bool clc_is_over(const struct clc *c)
{
	return c->state == CLC_ON_SMC || c->state == CLC_ON_TCP ||
	       c->state == CLC_FAILED;
}
