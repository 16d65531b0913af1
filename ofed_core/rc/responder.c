/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder: requests from the wire to a reliable queue pair, and to an
 * unreliable one.
 *
 * Sequence rules: InfiniBand 9.7.5 (expected, gap, duplicate).
 */
#include "ofed_core/rc/responder.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/verbs/receive.h"
#include "ofed_core/wire/wire.h"

#define HELD_AT_ONCE 64

void responder_reset(struct qp *qp)
{
	responder_release_all(qp);
	memset(&qp->resp, 0, sizeof(qp->resp));
}

static void send_ack(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct packet a = {.opcode = TRANSPORT_RC | OP_ACK,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = psn & PSN_MASK,
			   .syndrome = syndrome,
			   .msn = qp->resp.msn};

	/* It answers for everything before it too. */
	qp->resp.owes_ack = false;
	wire_send(&qp->attr.address, &a);
}

/* Acknowledgements wait until what has arrived was looked at: one for all. */
void responder_pay_ack(struct qp *qp)
{
	/* No answer overtakes another. */
	if (qp->resp.owes_ack && !qp->resp.reading.is_active)
		send_ack(qp, AETH_ACK | AETH_ACK_UNLIMITED, qp->resp.psn - 1);
}

void responder_refuse(struct qp *qp, enum verdict v, uint32_t psn)
{
	struct responder *r = &qp->resp;
	enum event_type event = EVENT_QP_REQ_ERR;
	uint8_t nak = NAK_INVALID_REQUEST;

	responder_release_all(qp);
	if (v == VERDICT_NOT_READY) {
		/* What follows in flight is not a gap to complain about. */
		r->has_nak = true;
		send_ack(qp, AETH_RNR | (qp->attr.min_rnr_timer & 0x1f), psn);
		return;
	}
	if (v == VERDICT_ACCESS) {
		nak = NAK_ACCESS;
		event = EVENT_QP_ACCESS_ERR;
	} else if (v == VERDICT_LOCAL) {
		nak = NAK_OPERATIONAL;
	}
	qp->resp.nak = nak;
	send_ack(qp, nak, psn);
	if (v != VERDICT_LOCAL)
		event_send(qp->o.client, &qp->o, event);
	qp_set_error(qp);
}

/* ---- Atomics ---- */

static void send_atomic(struct qp *qp, uint32_t psn, uint64_t original)
{
	struct packet a = {.opcode = TRANSPORT_RC | OP_ATOMIC_ACK,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = psn,
			   .syndrome = AETH_ACK | AETH_ACK_UNLIMITED,
			   .msn = qp->resp.msn,
			   .original = original};

	wire_send(&qp->attr.address, &a);
}

static void answer_atomic(struct qp *qp, const struct packet *p,
			  const struct atomic_result *result)
{
	const struct response empty = {.psn = p->psn, .n = 1};

	if (result->is_write)
		responder_respond(qp, &empty);
	else
		send_atomic(qp, p->psn, result->original);
}

/* Done once, and answered again when the answer is asked for again. */
static void keep_atomic(struct qp *qp, const struct packet *p,
			const struct atomic_result *result)
{
	struct responder *r = &qp->resp;

	receive_established(qp);
	responder_pay_ack(qp);
	r->results[r->next_result] = *result;
	r->next_result = (r->next_result + 1) % MAX_RD_ATOM;
	r->msn++;
	r->psn = (p->psn + 1) & PSN_MASK;
	answer_atomic(qp, p, result);
}

static enum verdict do_atomic_write(struct qp *qp, const struct packet *p)
{
	const struct atomic_result result = {
	    .psn = p->psn, .is_used = true, .is_write = true};
	uint64_t value;
	int rc;

	if (qp->resp.open != MESSAGE_NONE || !qp->attr.max_dest_rd_atomic ||
	    p->dma_bytes != sizeof(value) || p->payload_bytes != sizeof(value))
		return VERDICT_INVALID;
	memcpy(&value, p->payload, sizeof(value));
	rc = receive_atomic_write(qp, p->rkey, p->address, value);
	if (rc < 0)
		return rc == -EINVAL ? VERDICT_INVALID : VERDICT_ACCESS;
	keep_atomic(qp, p, &result);
	return VERDICT_OK;
}

static enum verdict do_atomic(struct qp *qp, const struct packet *p)
{
	bool is_swap = (p->opcode & 0x1f) == OP_COMPARE_SWAP;
	const struct atomic_request a = {
	    .opcode = is_swap ? IB_UVERBS_WR_ATOMIC_CMP_AND_SWP
			      : IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
	    .rkey = p->rkey,
	    .address = p->address,
	    .compare_add = is_swap ? p->compare : p->swap_add,
	    .swap = p->swap_add,
	};
	struct atomic_result result = {.psn = p->psn, .is_used = true};
	int rc;

	if (qp->resp.open != MESSAGE_NONE || !qp->attr.max_dest_rd_atomic)
		return VERDICT_INVALID;
	rc = receive_atomic(qp, &a, &result.original);
	if (rc < 0)
		return rc == -EINVAL ? VERDICT_INVALID : VERDICT_ACCESS;
	keep_atomic(qp, p, &result);
	return VERDICT_OK;
}

/* ---- Sequence ---- */

static void handle_duplicate(struct qp *qp, const struct packet *p)
{
	if (p->properties & (PACKET_SEND | PACKET_WRITE)) {
		qp->resp.owes_ack |= p->wants_ack;
	} else if (p->properties & PACKET_READ_REQUEST) {
		responder_pay_ack(qp);
		responder_read_again(qp, p);
	} else {
		responder_pay_ack(qp);
		for (unsigned i = 0; i < MAX_RD_ATOM; i++) {
			struct atomic_result *k = &qp->resp.results[i];

			if (k->is_used && k->psn == p->psn)
				answer_atomic(qp, p, k);
		}
	}
}

/* Takes p[0] and what carries on from it; returns how many. */
static unsigned handle_expected(struct qp *qp, const struct packet *const *p,
				unsigned count)
{
	struct responder *r = &qp->resp;
	unsigned n = 1;
	enum verdict v;

	r->has_nak = false;
	if (p[0]->properties & PACKET_READ_REQUEST) {
		v = responder_read(qp, p[0]);
	} else if (p[0]->properties & PACKET_ATOMIC) {
		v = do_atomic(qp, p[0]);
	} else if (p[0]->properties & PACKET_ATOMIC_WRITE) {
		v = do_atomic_write(qp, p[0]);
	} else {
		v = responder_take(qp, p, count, &n);
		if (v == VERDICT_OK)
			r->psn = (p[n - 1]->psn + 1) & PSN_MASK;
		for (unsigned i = 0; i < n && v == VERDICT_OK; i++)
			r->owes_ack |= p[i]->wants_ack;
		if (v == VERDICT_OK && (p[n - 1]->properties & PACKET_LAST))
			r->msn++;
	}
	if (v != VERDICT_OK)
		responder_refuse(qp, v, p[0]->psn);
	return n;
}

static void complain(struct qp *qp)
{
	if (!qp->resp.has_nak)
		send_ack(qp, NAK_SEQUENCE, qp->resp.psn);
	qp->resp.has_nak = true;
}

static bool may_go_on(const struct qp *qp)
{
	return !qp->resp.has_nak && !qp->resp.reading.is_active &&
	       atomic_load(&((struct qp *)(uintptr_t)qp)->state) != QP_ERR;
}

/* A gap closed: what was kept behind it, up to the next. */
static void take_held(struct qp *qp)
{
	const struct packet *p[HELD_AT_ONCE];
	unsigned count;

	while (may_go_on(qp) && (count = responder_held(qp, p, HELD_AT_ONCE))) {
		unsigned n = 0;

		while (n < count && may_go_on(qp))
			n += handle_expected(qp, p + n, count - n);
		while (n < count && qp->resp.reading.is_active)
			responder_hold(qp, p[n++]);
		responder_release(p, count);
	}
	if (responder_has_held(qp) && !qp->resp.reading.is_active)
		complain(qp);
}

void responder_handle(struct qp *qp, const struct packet *const *p,
		      unsigned count)
{
	struct responder *r = &qp->resp;
	unsigned i = 0;

	while (i < count && atomic_load(&qp->state) != QP_ERR) {
		int32_t distance = psn_diff(p[i]->psn, r->psn);

		if (distance < 0) {
			handle_duplicate(qp, p[i++]);
		} else if (r->reading.is_active) {
			responder_hold(qp, p[i++]);
		} else if (distance == 0) {
			i += handle_expected(qp, p + i, count - i);
			if (r->held)
				take_held(qp);
		} else {
			responder_hold(qp, p[i++]);
			complain(qp);
		}
	}
	responder_pay_ack(qp);
}

void responder_go_on(struct qp *qp)
{
	enum qp_state s = atomic_load(&qp->state);

	if (!qp->resp.reading.is_active || s < QP_RTR || s == QP_ERR)
		return;
	responder_read_turn(qp);
	if (qp->resp.held)
		take_held(qp);
	responder_pay_ack(qp);
}

/* Unreliable: a gap or an error costs the message, and nobody is told. */
void responder_handle_uc(struct qp *qp, const struct packet *const *p,
			 unsigned count)
{
	struct responder *r = &qp->resp;
	unsigned n;

	for (unsigned i = 0; i < count; i += n) {
		bool is_next = p[i]->psn == r->psn;

		n = 1;
		r->psn = (p[i]->psn + 1) & PSN_MASK;
		if (!is_next || (p[i]->properties & PACKET_FIRST))
			r->open = MESSAGE_NONE;
		if (r->open == MESSAGE_NONE &&
		    !(p[i]->properties & PACKET_FIRST))
			continue;
		if (responder_take(qp, p + i, count - i, &n) == VERDICT_OK)
			r->psn = (p[i + n - 1]->psn + 1) & PSN_MASK;
		else
			r->open = MESSAGE_NONE;
	}
}
