/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_program: what the program did, told to the wire half; and back. */
#include "smc_r/service/rc_program_parts.h"

#include <sys/socket.h>

#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_rest.h"
#include "smc_r/service/rc_service.h"

/* ---- the wire half tells ---- */

static void fall_back(struct rc_program *p, uint32_t reason,
		      uint32_t peer_reason)
{
	struct connection *near = rc_program_near(p);

	atomic_store(&near->control->reason, reason);
	atomic_store(&near->control->peer_reason, peer_reason);
	connection_end(near, ENDS_FREEZES);
	connection_end(near, ENDS_ASKS_REST);
	connection_end(near, ENDS_ASKS_SEAL);
	connection_end(near, ENDS_SEALS);
	rc_program_drop_relay(p);
	rc_program_signal(p);
	rc_program_forget(p, p->conn.tcp);
	rc_program_heat(p);
	p->until_ns = p->all->now_ns + RC_REST_NS;
}

static void tell_outcome(struct rc_conn *c, enum rc_outcome outcome,
			 uint32_t reason, uint32_t peer_reason)
{
	struct rc_program *p = rc_program_of(c);
	struct rmb_element *e = rc_program_near(p)->control;

	atomic_store(&e->settled, atomic_load(&e->epoch));
	switch (outcome) {
	case RC_OUTCOME_SMC:
		rc_program_close_tcp(p);
		if (p->relay.fd >= 0)
			rc_program_start_relay(p);
		rc_program_heat(p);
		break;
	case RC_OUTCOME_TCP:
		fall_back(p, reason, peer_reason);
		break;
	case RC_OUTCOME_BROKEN:
		rc_program_abort(p);
		shutdown(c->tcp, SHUT_RDWR);
		rc_program_finish(p);
		break;
	}
}

static void tell_moved(struct rc_conn *c)
{
	rc_program_heat(rc_program_of(c));
}

static void tell_peer(struct rc_conn *c, int error)
{
	struct rc_program *p = rc_program_of(c);

	(void)error;
	/* The end goes on behind the bytes. */
	if (p->relayed)
		rc_program_heat(p);
	switch (rc_stream_peer(&c->pump.stream)) {
	case RC_STREAM_OPEN:
		return;
	case RC_STREAM_FIN:
		connection_end(rc_program_near(p), ENDS_SHUTS_OUT);
		break;
	case RC_STREAM_CLOSED:
		connection_end(rc_program_near(p), ENDS_SHUTS_OUT);
		connection_end(rc_program_near(p), ENDS_CLOSES);
		break;
	case RC_STREAM_RESET:
		connection_end(rc_program_near(p), ENDS_ABORTS);
		break;
	}
	rc_program_signal(p);
}

static void tell_over(struct rc_conn *c)
{
	rc_program_finish(rc_program_of(c));
}

const struct rc_near_calls rc_program_calls = {.outcome = tell_outcome,
					       .peer = tell_peer,
					       .moved = tell_moved,
					       .over = tell_over};

/* ---- the program tells ---- */

/* It did not read to the end, or wants no end in order. */
static bool breaks_off(struct rc_program *p)
{
	struct ends_words w = connection_ends(rc_program_near(p));

	if (p->relayed && p->relay.reset)
		return true;
	return ends_was_aborted(&w) ||
	       atomic_load(&rc_program_near(p)->out_consumer->cursor) <
		   p->conn.pump.stream.received;
}

/* A program that died has closed. */
static enum ends_peer end_of(struct rc_program *p)
{
	enum ends_peer end = connection_peer(rc_program_near(p));

	if (p->relayed)
		return p->relay.gone          ? PEER_CLOSED
		       : p->relay.input_ended ? PEER_HALF
					      : PEER_OPEN;
	if (p->gone)
		return PEER_CLOSED;
	return end == PEER_HALF_FIN ? PEER_HALF : end;
}

static bool tell_end(struct rc_program *p)
{
	enum ends_peer end = end_of(p);

	if (end <= p->end)
		return false;
	p->end = end;
	if (end >= PEER_CLOSED)
		rc_stream_end(&p->conn.pump.stream, CLOSE_RELEASE,
			      breaks_off(p));
	else
		rc_stream_end(&p->conn.pump.stream,
			      end == PEER_SHUT ? CLOSE_SHUTDOWN_BOTH
					       : CLOSE_SHUTDOWN_WRITE,
			      false);
	return true;
}

static bool has_moved(struct rc_program *p)
{
	uint64_t written =
	    atomic_load(&rc_program_near(p)->in_producer->cursor);
	uint64_t consumed =
	    atomic_load(&rc_program_near(p)->out_consumer->cursor);
	bool moved = written != p->written || consumed != p->consumed;

	p->written = written;
	p->consumed = consumed;
	return moved;
}

/* What the peer sent goes first. */
static void move_relay(struct rc_program *p)
{
	struct rc_stream *s = &p->conn.pump.stream;
	enum rc_stream_end end = rc_stream_peer(s);

	rc_relay_move(&p->relay, rc_program_near(p), rc_stream_released(s),
		      s->received);
	if (end != RC_STREAM_OPEN)
		rc_relay_end(&p->relay, rc_program_near(p), s->received,
			     end == RC_STREAM_RESET);
}

static bool work_active(struct rc_program *p)
{
	bool ended;

	if (p->relayed)
		move_relay(p);
	ended = tell_end(p);
	if (!has_moved(p) && !ended)
		return false;
	if (rc_service_work(&p->conn, p->all->now_ns) < 0)
		rc_program_abort(p);
	return true;
}

/* Until the program has sealed, or all that it wrote is sent and it is gone. */
static void work_tcp(struct rc_program *p)
{
	struct ends_words w = connection_ends(rc_program_near(p));

	if (ends_is_sealed(&w)) {
		rc_program_finish(p);
		return;
	}
	p->until_ns = p->all->now_ns + RC_REST_NS;
	rc_pump_arm(&p->conn.pump);
	if (rc_rest_send(rc_program_near(p), p->conn.tcp) == RC_REST_LEFT)
		return;
	p->hot = false;
	if (end_of(p) >= PEER_CLOSED)
		rc_program_finish(p);
}

/* One that moves when it is armed stays hot. */
static void cool(struct rc_program *p)
{
	bool sure = p->relayed || rc_pump_arm(&p->conn.pump);

	if (sure && !work_active(p)) {
		p->hot = false;
		return;
	}
	/* Its element has gone back. */
	if (p->over)
		return;
	rc_pump_disarm(&p->conn.pump);
	p->until_ns = p->all->now_ns + RC_QUIET_NS;
}

bool rc_program_work(struct rc_program *p)
{
	bool is_due = p->all->now_ns >= p->until_ns;

	switch (p->conn.state) {
	case RC_CONN_SETUP:
		/* Nothing can be said before the outcome. */
		if (!p->attached && is_due)
			rc_program_give_up(p);
		else if (p->attached && is_due)
			p->hot = false;
		return false;
	case RC_CONN_ACTIVE:
		if (work_active(p)) {
			p->until_ns = p->all->now_ns + RC_QUIET_NS;
			return true;
		}
		if (is_due)
			cool(p);
		return false;
	case RC_CONN_TCP:
		if (is_due || p->gone)
			work_tcp(p);
		return false;
	case RC_CONN_OVER:
		break;
	}
	return false;
}
