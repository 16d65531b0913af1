/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_setup: the handshake of one connection. */
#include "smc_r/service/rc_setup.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_carrier.h"
#include "smc_r/service/rc_group.h"
#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_port.h"
#include "smc_r/service/rc_terms.h"

#define MS_NS     1000000ULL
/* For the Add Link stage, and for a Decline behind it. */
#define SECOND_MS 3500
/* A first contact of the same peer is waited for so long, at most. */
#define WAIT_NS   (2000 * MS_NS)

static uint64_t ms_of(uint64_t now_ns)
{
	return now_ns / MS_NS;
}

/* ---- messages ---- */

static int send_bytes(struct rc_setup *u, const uint8_t *bytes, int n)
{
	assert(n > 0);
	return rc_carrier_send(u->conn->tcp, bytes, (size_t)n);
}

static int send_proposal(struct rc_setup *u)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n = clc_encode_proposal(&u->terms.proposal, bytes, sizeof(bytes));

	return send_bytes(u, bytes, n);
}

static int send_end(struct rc_setup *u)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_accept_confirm m;

	rc_terms_describe(&u->terms, &m);
	return send_bytes(u, bytes,
			  clc_encode_accept_confirm(&m, bytes, sizeof(bytes)));
}

static int send_decline(struct rc_setup *u)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_decline m;

	clc_decline(&u->clc, &m);
	m.os = CLC_OS_LINUX;
	memcpy(m.peer_id, u->conn->service->peer_id, sizeof(m.peer_id));
	return send_bytes(u, bytes,
			  clc_encode_decline(&m, bytes, sizeof(bytes)));
}

static int send_message(struct rc_setup *u, enum clc_send what)
{
	switch (what) {
	case CLC_SEND_NOTHING:
		return 0;
	case CLC_SEND_PROPOSAL:
		return send_proposal(u);
	case CLC_SEND_ACCEPT:
	case CLC_SEND_CONFIRM:
		return send_end(u);
	case CLC_SEND_DECLINE:
		return send_decline(u);
	}
	return -EINVAL;
}

/* ---- the outcome ---- */

static void leave(struct rc_setup *u, uint64_t now_ns)
{
	if (u->conn->group)
		rc_group_leave(u->conn->group, u->conn, now_ns);
}

static void finish(struct rc_setup *u, enum rc_outcome outcome, uint64_t now_ns)
{
	struct rc_conn *c = u->conn;
	struct rc_setup **at = &c->service->setups;
	uint32_t reason = u->clc.reason, peer_reason = u->clc.peer_reason;

	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	memcpy(c->peer_id, u->clc.peer_id, sizeof(c->peer_id));
	c->setup = NULL;
	if (outcome == RC_OUTCOME_SMC) {
		free(u);
		rc_group_start(c->group, c, now_ns);
		return;
	}
	/* The peer may have begun: it is told, and may write until then. */
	if (outcome == RC_OUTCOME_BROKEN && c->group &&
	    (c->row >= 0 || c->told_key)) {
		free(u);
		rc_group_break(c->group, c, now_ns);
		return;
	}
	leave(u, now_ns);
	free(u);
	c->state = outcome == RC_OUTCOME_TCP ? RC_CONN_TCP : RC_CONN_OVER;
	rc_near_outcome(c, outcome, reason, peer_reason);
}

/* The client has committed itself; a server that cannot follow it breaks. */
static void finish_smc(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_conn *c = u->conn;

	if (!c->group ||
	    (c->row < 0 && rc_group_meet(c->group, c, &u->terms.end) < 0)) {
		u->clc.reason = REASON_RTOKEN;
		finish(u, RC_OUTCOME_BROKEN, now_ns);
		return;
	}
	finish(u, RC_OUTCOME_SMC, now_ns);
}

/* ---- preparations: a reason, or REASON_NONE; NOT_YET ---- */

#define NOT_YET UINT32_MAX

/* -EAGAIN goes on when a result made room. */
static uint32_t ask(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_conn *c = u->conn;

	if (c->joined == -EAGAIN && c->group)
		(void)rc_group_ask(c->group, c, now_ns);
	if (c->joined == -EINPROGRESS || (c->joined == -EAGAIN && !c->told_key))
		return NOT_YET;
	if (c->joined == -ECONNRESET)
		return REASON_NO_ACTIVE_LINK;
	return c->joined ? REASON_REGISTER : REASON_NONE;
}

static uint32_t join(struct rc_setup *u, struct rc_group *g, uint64_t now_ns)
{
	int error = rc_group_join(g, u->conn, now_ns);

	if (error)
		return error == -ENOMEM ? REASON_MEMORY : REASON_REGISTER;
	u->step = RC_SETUP_ASKS;
	(void)rc_group_ask(g, u->conn, now_ns);
	return ask(u, now_ns);
}

/* A peer that was here by another name has begun anew: are its links alive? */
static void test_others(const struct rc_setup *u, uint64_t now_ns)
{
	struct rc_service *s = u->conn->service;

	for (struct rc_group *g = s->groups; g; g = g->next)
		if (rc_port_is_same(g->port, u->terms.port) &&
		    memcmp(&g->peer.gid, &u->terms.peer.gid,
			   sizeof(g->peer.gid)) == 0 &&
		    memcmp(g->peer.id, u->terms.peer.id, sizeof(g->peer.id)) !=
			0)
			rc_group_test(g, now_ns);
}

static uint32_t make_group(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_group *g;
	int error;

	test_others(u, now_ns);
	g = rc_group_new(u->conn->service, u->terms.port, &u->terms.peer,
			 &error);
	if (!g)
		return error == -ENOMEM ? REASON_MEMORY : REASON_READY_LINK;
	error = rc_group_join(g, u->conn, now_ns);
	if (error) {
		rc_group_end(g, LLC_DELETE_PROGRAM, true, now_ns);
		return error == -ENOMEM ? REASON_MEMORY : REASON_REGISTER;
	}
	u->step = RC_SETUP_FIRST;
	u->terms.first = true;
	clc_want_link(&u->clc);
	return REASON_NONE;
}

static uint32_t prepare_accept(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_service *s = u->conn->service;
	struct rc_group *g;
	uint32_t reason;

	if (u->step == RC_SETUP_ASKS)
		return ask(u, now_ns);
	if (u->step == RC_SETUP_NEW) {
		reason = rc_terms_choose(&u->terms);
		if (reason != REASON_NONE)
			return reason;
		u->step = RC_SETUP_WAITS;
		u->wait_ns = now_ns + WAIT_NS;
	}
	g = rc_group_find(s, u->terms.port, &u->terms.peer);
	if (g)
		return join(u, g, now_ns);
	if (now_ns < u->wait_ns &&
	    rc_group_is_coming(s, u->terms.port, &u->terms.peer))
		return NOT_YET;
	return make_group(u, now_ns);
}

static uint32_t meet(struct rc_setup *u)
{
	int error = rc_group_meet(u->conn->group, u->conn, &u->terms.end);

	return error ? REASON_RTOKEN : REASON_NONE;
}

static uint32_t prepare_first_confirm(struct rc_setup *u, uint64_t now_ns)
{
	uint32_t reason = make_group(u, now_ns);

	if (reason != REASON_NONE)
		return reason;
	if (rc_group_connect(u->conn->group, &u->terms.end) != 0)
		return REASON_READY_LINK;
	return meet(u);
}

static uint32_t prepare_confirm(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_group *g;
	uint32_t reason;

	if (u->step == RC_SETUP_NEW) {
		reason = rc_terms_judge(&u->terms);
		if (reason != REASON_NONE)
			return reason;
		if (u->terms.end.first_contact)
			return prepare_first_confirm(u, now_ns);
		g = rc_group_find(u->conn->service, u->terms.port,
				  &u->terms.peer);
		if (!g)
			return REASON_SYNC;
		reason = join(u, g, now_ns);
	} else {
		reason = ask(u, now_ns);
	}
	return reason == REASON_NONE ? meet(u) : reason;
}

/* Both have sent what they are: the link is to be confirmed by LLC. If that
 * fails the peer may say so, before the time of CLC is over. */
static uint32_t prepare_link(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_conn *c = u->conn;
	uint32_t reason;

	if (!c->group)
		return c->joined == -EPROTO ? REASON_RMBE_EYECATCHER : NOT_YET;
	if (u->step == RC_SETUP_FIRST) {
		u->step = RC_SETUP_LINK;
		if (c->server) {
			reason = rc_terms_judge(&u->terms);
			if (reason != REASON_NONE)
				return reason;
			if (rc_group_connect(c->group, &u->terms.end) != 0)
				return REASON_READY_LINK;
			reason = meet(u);
			if (reason != REASON_NONE)
				return reason;
		}
		if (rc_group_confirm(c->group, c, now_ns) != 0)
			return REASON_READY_LINK;
	}
	if (c->joined == -EPROTO)
		return REASON_RMBE_EYECATCHER;
	if (c->group->confirmed && c->joined == -EINPROGRESS &&
	    u->step == RC_SETUP_LINK) {
		u->step = RC_SETUP_SECOND;
		u->clc.deadline_ms = ms_of(now_ns) + SECOND_MS;
	}
	return c->joined ? NOT_YET : REASON_NONE;
}

static uint32_t prepare(struct rc_setup *u, uint64_t now_ns)
{
	if (u->clc.state == CLC_PREPARE_ACCEPT)
		return prepare_accept(u, now_ns);
	if (u->clc.state == CLC_PREPARE_CONFIRM)
		return prepare_confirm(u, now_ns);
	return u->clc.state == CLC_AWAIT_LINK ? prepare_link(u, now_ns)
					      : NOT_YET;
}

/* ---- the machine ---- */

/* Our Decline has gone, so nothing of ours is on the link. */
static void look(struct rc_setup *u, uint64_t now_ns)
{
	leave(u, now_ns);
	if (u->clc.deadline_ms == 0)
		u->clc.deadline_ms = ms_of(now_ns) + CLC_LOOK_MS;
}

/* The setup is gone behind a final action. */
static void act(struct rc_setup *u, struct clc_action a, uint64_t now_ns)
{
	uint32_t reason;

	for (;;) {
		if (send_message(u, a.send) != 0) {
			finish(u, RC_OUTCOME_BROKEN, now_ns);
			return;
		}
		switch (a.next) {
		case CLC_USE_SMC:
			finish_smc(u, now_ns);
			return;
		case CLC_USE_TCP:
			finish(u, RC_OUTCOME_TCP, now_ns);
			return;
		case CLC_FAIL:
			finish(u, RC_OUTCOME_BROKEN, now_ns);
			return;
		case CLC_WAIT:
			/* What the peer says later must not be read by the
			 * program, so that it waits, until we end. */
			if (u->conn->service->ending &&
			    (u->clc.state == CLC_LATE ||
			     u->clc.state == CLC_SKIP_ANSWER)) {
				finish(u, RC_OUTCOME_TCP, now_ns);
				return;
			}
			if (u->clc.state == CLC_LOOK)
				look(u, now_ns);
			return;
		case CLC_PREPARE:
			break;
		}
		reason = prepare(u, now_ns);
		if (reason == NOT_YET)
			return;
		a = reason == REASON_NONE
			? clc_commit(&u->clc, ms_of(now_ns))
			: clc_abort(&u->clc, reason, ms_of(now_ns));
	}
}

/* The peer does not know a group of ours: it is of no use. */
static void on_decline(struct rc_setup *u, const struct clc_decline *d,
		       uint64_t now_ns)
{
	if (d->out_of_sync && u->conn->group && u->step == RC_SETUP_ASKS)
		rc_group_end(u->conn->group, LLC_DELETE_VIOLATION, false,
			     now_ns);
}

static void keep(struct rc_setup *u, const struct clc_message *m,
		 uint64_t now_ns)
{
	switch ((enum clc_type)m->type) {
	case CLC_PROPOSAL:
		u->terms.proposal = m->proposal;
		break;
	case CLC_ACCEPT:
	case CLC_CONFIRM:
		u->terms.end = m->accept_confirm;
		break;
	case CLC_DECLINE:
		on_decline(u, &m->decline, now_ns);
		break;
	}
}

/* One message, or what is there of it. False: there is no more to come. */
static bool read_one(struct rc_setup *u, uint64_t now_ns)
{
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	ssize_t n = rc_carrier_peek(u->conn->tcp, bytes, sizeof(bytes));
	struct clc_action a;

	if (n == -EAGAIN)
		return false;
	/* A peer that has its link may be done with TCP. */
	if (n <= 0 && u->clc.state == CLC_AWAIT_LINK)
		return false;
	if (n < 0) {
		u->clc.reason = u->clc.reason ? u->clc.reason : REASON_CLOSED;
		finish(u, RC_OUTCOME_BROKEN, now_ns);
		return false;
	}
	a = n == 0 ? clc_closed(&u->clc)
		   : clc_feed(&u->clc, bytes, (size_t)n, &m, ms_of(now_ns));
	if (a.take) {
		if (rc_carrier_take(u->conn->tcp, a.take) != 0)
			a = (struct clc_action){.next = CLC_FAIL};
		else
			keep(u, &m, now_ns);
	}
	n = a.take;
	act(u, a, now_ns);
	return n > 0;
}

void rc_setup_readable(struct rc_setup *u, uint64_t now_ns)
{
	struct rc_conn *c = u->conn;

	while (c->setup && read_one(u, now_ns))
		;
}

void rc_setup_step(struct rc_setup *u, uint64_t now_ns)
{
	struct clc_action a = clc_time(&u->clc, ms_of(now_ns));

	if (a.next == CLC_WAIT && a.send == CLC_SEND_NOTHING &&
	    (u->clc.state == CLC_PREPARE_ACCEPT ||
	     u->clc.state == CLC_PREPARE_CONFIRM ||
	     u->clc.state == CLC_AWAIT_LINK))
		a.next = CLC_PREPARE;
	act(u, a, now_ns);
}

uint64_t rc_setup_next_ns(const struct rc_setup *u)
{
	uint64_t due =
	    u->clc.deadline_ms ? u->clc.deadline_ms * MS_NS : UINT64_MAX;

	if (u->step == RC_SETUP_WAITS && u->wait_ns < due)
		due = u->wait_ns;
	return due;
}

void rc_setup_abort(struct rc_setup *u, uint32_t reason, uint64_t now_ns)
{
	act(u, clc_abort(&u->clc, reason, ms_of(now_ns)), now_ns);
}

static void start(struct rc_setup *u, uint64_t now_ns)
{
	if (u->conn->server)
		rc_setup_readable(u, now_ns);
	else if (rc_terms_propose(&u->terms))
		act(u, clc_start(&u->clc, &u->terms.proposal, ms_of(now_ns)),
		    now_ns);
	else
		rc_setup_abort(u, REASON_NO_SMCR_DEVICE, now_ns);
}

void rc_setup_begin(struct rc_service *s, struct rc_conn *c, uint64_t now_ns)
{
	struct clc_config config = {.server = c->server,
				    .answer_ms = CLC_ANSWER_MS,
				    .confirm_ms = CLC_CONFIRM_MS,
				    .link_ms = c->server ? CLC_LINK_SERVER_MS
							 : CLC_LINK_CLIENT_MS};
	struct rc_setup *u = calloc(1, sizeof(*u));

	/* Nothing was sent or taken; the peer is refused what it asks for. */
	if (!u) {
		c->state = RC_CONN_OVER;
		rc_near_outcome(c, RC_OUTCOME_BROKEN, REASON_MEMORY, 0);
		return;
	}
	c->setup = u;
	u->conn = c;
	u->terms.conn = c;
	u->next = s->setups;
	s->setups = u;
	clc_init(&u->clc, &config, ms_of(now_ns));
	start(u, now_ns);
}
