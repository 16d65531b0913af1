/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc: the handshake of one connection as a machine.
 */
#include "smc_r/protocol/clc.h"
#include "smc_r/protocol/clc_step.h"
#include "smc_r/protocol/reason.h"

#include <errno.h>
#include <string.h>

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
	    [CLC_LATE] = "late",
	    [CLC_LOOK] = "look",
	    [CLC_ON_SMC] = "on smc",
	    [CLC_ON_TCP] = "on tcp",
	    [CLC_FAILED] = "failed",
	};

	if (state < 0 || state >= CLC_STATE_COUNT)
		return "unknown";
	return names[state];
}

void clc_init(struct clc *c, const struct clc_config *config, uint64_t now_ms)
{
	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->version = 1;
	c->state = CLC_START;
	if (config->server) {
		c->state = CLC_AWAIT_PROPOSAL;
		if (config->answer_ms)
			c->deadline_ms = now_ms + config->answer_ms;
	}
}

struct clc_action clc_start(struct clc *c, const struct clc_proposal *proposal,
			    uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms, .offer = proposal};

	return clc_step(c, EVENT_START, &in);
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
		return clc_stay(c);
	if (length == -EAGAIN || length > (int)n)
		return clc_step(c, EVENT_PARTIAL, &in);
	if (length < 0)
		return clc_step(c, EVENT_FOREIGN, &in);
	if (clc_decode(message, bytes, (size_t)length) != 0)
		return clc_step(c, EVENT_GARBLED, &in);
	in.bytes = (uint16_t)length;
	return clc_step(c, event_of(message->type), &in);
}

struct clc_action clc_closed(struct clc *c)
{
	struct clc_input in = {0};

	return clc_step(c, EVENT_CLOSED, &in);
}

struct clc_action clc_time(struct clc *c, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms};

	if (c->deadline_ms == 0 || now_ms < c->deadline_ms)
		return clc_stay(c);
	return clc_step(c, EVENT_TIME, &in);
}

struct clc_action clc_abort(struct clc *c, uint32_t reason, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms, .reason = reason};

	return clc_step(c, EVENT_ABORT, &in);
}

struct clc_action clc_commit(struct clc *c, uint64_t now_ms)
{
	struct clc_input in = {.now_ms = now_ms};

	return clc_step(c, EVENT_COMMIT, &in);
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

void clc_wrote(struct clc *c)
{
	c->wrote = true;
}

void clc_skip(struct clc *c)
{
	c->state = CLC_ON_SMC;
	c->deadline_ms = 0;
}

bool clc_can_write(const struct clc *c)
{
	return c->state == CLC_SKIP_ANSWER || c->state == CLC_LATE ||
	       c->state == CLC_LOOK || c->state == CLC_ON_TCP;
}

bool clc_is_over(const struct clc *c)
{
	return c->state == CLC_ON_SMC || c->state == CLC_ON_TCP ||
	       c->state == CLC_FAILED;
}
