/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder: requests from the wire to a reliable queue pair, and to an
 * unreliable one.
 *
 * Sequence rules: InfiniBand 9.7.5 (expected, gap, duplicate).
 */
#include "responder.h"

#include <errno.h>

#include "requester.h"
#include "wire.h"

#define READ_BURST 64 /* packets whose data is fetched at once */

static void send_ack(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct packet a = {.opcode = TRANSPORT_RC | OP_ACK,
			   .pkey = PACKET_PKEY,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = psn & PSN_MASK,
			   .syndrome = syndrome,
			   .msn = qp->resp.msn};

	wire_send(&qp->attr.address, &a, qp->qpn);
}

static void refuse(struct qp *qp, enum verdict v, uint32_t psn)
{
	struct responder *r = &qp->resp;
	enum event_type event = EVENT_QP_REQ_ERR;
	uint8_t nak = NAK_INVALID_REQUEST;

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
	send_ack(qp, nak, psn);
	if (v != VERDICT_LOCAL)
		event_send(qp->o.client, &qp->o, event);
	qp_set_error(qp);
}

/* ---- READ ---- */

static uint8_t read_opcode(uint32_t i, uint32_t n)
{
	if (n == 1)
		return OP_READ_ONLY;
	if (i == 0)
		return OP_READ_FIRST;
	return i == n - 1 ? OP_READ_LAST : OP_READ_MIDDLE;
}

static void send_response(struct qp *qp, const struct packet *p, uint32_t i,
			  uint32_t n, const uint8_t *data, size_t bytes)
{
	struct packet a = {.opcode = TRANSPORT_RC | read_opcode(i, n),
			   .pkey = PACKET_PKEY,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = (p->psn + i) & PSN_MASK,
			   .syndrome = AETH_ACK | AETH_ACK_UNLIMITED,
			   .msn = qp->resp.msn,
			   .payload = data,
			   .payload_bytes = bytes};

	wire_send(&qp->attr.address, &a, qp->qpn);
}

static enum verdict send_data(struct qp *qp, const struct packet *p,
			      const struct span *from)
{
	uint8_t *data = worker_buffer(BUFFER_READ, READ_BURST * 4096);
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	uint32_t n = packets_of(p->dma_bytes, mtu);
	uint64_t at = 0;

	if (!data)
		return VERDICT_LOCAL;
	for (uint32_t i = 0; i < n; i += READ_BURST) {
		uint64_t bytes = p->dma_bytes - at;

		if (bytes > (uint64_t)READ_BURST * mtu)
			bytes = (uint64_t)READ_BURST * mtu;
		if (spans_read(from, 1, at, data, bytes) < 0)
			return VERDICT_ACCESS;
		for (uint32_t k = i; k < n && k < i + READ_BURST; k++) {
			uint64_t skip = (uint64_t)(k - i) * mtu;
			uint64_t size = bytes - skip < mtu ? bytes - skip : mtu;

			send_response(qp, p, k, n, data + skip, size);
		}
		at += bytes;
	}
	return VERDICT_OK;
}

static enum verdict resolve_read(struct qp *qp, const struct packet *p,
				 struct span *from)
{
	if (!(qp->attr.access & ACCESS_REMOTE_READ) ||
	    !qp->attr.max_dest_rd_atomic || p->dma_bytes > MAX_MSG_BYTES ||
	    qp->resp.open != MESSAGE_NONE)
		return VERDICT_INVALID;
	if (mr_resolve_remote(qp->pd, p->rkey, p->address, p->dma_bytes,
			      ACCESS_REMOTE_READ, from) < 0)
		return VERDICT_ACCESS;
	return VERDICT_OK;
}

static enum verdict do_read(struct qp *qp, const struct packet *p)
{
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	struct span from;
	enum verdict v = resolve_read(qp, p, &from);

	if (v != VERDICT_OK)
		return v;
	responder_established(qp);
	qp->resp.msn++;
	v = send_data(qp, p, &from);
	if (v == VERDICT_OK)
		qp->resp.psn =
		    (p->psn + packets_of(p->dma_bytes, mtu)) & PSN_MASK;
	return v;
}

/* ---- Atomics ---- */

static void send_atomic(struct qp *qp, uint32_t psn, uint64_t original)
{
	struct packet a = {.opcode = TRANSPORT_RC | OP_ATOMIC_ACK,
			   .pkey = PACKET_PKEY,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = psn,
			   .syndrome = AETH_ACK | AETH_ACK_UNLIMITED,
			   .msn = qp->resp.msn,
			   .original = original};

	wire_send(&qp->attr.address, &a, qp->qpn);
}

static enum verdict do_atomic(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	bool is_swap = (p->opcode & 0x1f) == OP_COMPARE_SWAP;
	const struct atomic_request a = {
	    .opcode = is_swap ? IB_UVERBS_WR_ATOMIC_CMP_AND_SWP
			      : IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
	    .rkey = p->rkey,
	    .address = p->address,
	    .compare_add = is_swap ? p->compare : p->swap_add,
	    .swap = p->swap_add,
	};
	struct atomic_result *keep = &r->results[r->next_result];
	uint64_t original;
	int rc;

	if (r->open != MESSAGE_NONE || !qp->attr.max_dest_rd_atomic)
		return VERDICT_INVALID;
	rc = responder_atomic(qp, &a, &original);
	if (rc < 0)
		return rc == -EINVAL ? VERDICT_INVALID : VERDICT_ACCESS;
	responder_established(qp);
	*keep = (struct atomic_result){p->psn, original, true};
	r->next_result = (r->next_result + 1) % MAX_RD_ATOM;
	r->msn++;
	r->psn = (p->psn + 1) & PSN_MASK;
	send_atomic(qp, p->psn, original);
	return VERDICT_OK;
}

/* ---- Sequence ---- */

static void repeat_read(struct qp *qp, const struct packet *p)
{
	uint32_t n = packets_of(p->dma_bytes, mtu_bytes(qp->attr.path_mtu));
	enum message_kind open = qp->resp.open;
	struct span from;
	enum verdict v;

	/* Only what was asked before may be asked again. */
	if (psn_diff(p->psn + n, qp->resp.psn) > 0)
		return;
	/* A later message may be open; it has nothing to do with this. */
	qp->resp.open = MESSAGE_NONE;
	v = resolve_read(qp, p, &from);
	if (v == VERDICT_OK)
		v = send_data(qp, p, &from);
	qp->resp.open = open;
	if (v != VERDICT_OK)
		refuse(qp, v, p->psn);
}

static void handle_duplicate(struct qp *qp, const struct packet *p)
{
	if (p->properties & (PACKET_SEND | PACKET_WRITE)) {
		if (p->wants_ack)
			send_ack(qp, AETH_ACK | AETH_ACK_UNLIMITED,
				 qp->resp.psn - 1);
	} else if (p->properties & PACKET_READ_REQUEST) {
		repeat_read(qp, p);
	} else {
		for (unsigned i = 0; i < MAX_RD_ATOM; i++) {
			struct atomic_result *k = &qp->resp.results[i];

			if (k->is_used && k->psn == p->psn)
				send_atomic(qp, p->psn, k->original);
		}
	}
}

static enum verdict handle_expected(struct qp *qp, const struct packet *p)
{
	enum verdict v;

	if (p->properties & PACKET_READ_REQUEST)
		return do_read(qp, p);
	if (p->properties & PACKET_ATOMIC)
		return do_atomic(qp, p);
	v = responder_take(qp, p);
	if (v != VERDICT_OK)
		return v;
	qp->resp.psn = (p->psn + 1) & PSN_MASK;
	if (p->properties & PACKET_LAST)
		qp->resp.msn++;
	if (p->wants_ack)
		send_ack(qp, AETH_ACK | AETH_ACK_UNLIMITED, p->psn);
	return VERDICT_OK;
}

void responder_handle(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	int32_t distance = psn_diff(p->psn, r->psn);
	enum verdict v;

	if (distance < 0) {
		handle_duplicate(qp, p);
		return;
	}
	if (distance > 0) {
		if (!r->has_nak)
			send_ack(qp, NAK_SEQUENCE, r->psn);
		r->has_nak = true;
		return;
	}
	r->has_nak = false;
	v = handle_expected(qp, p);
	if (v != VERDICT_OK)
		refuse(qp, v, p->psn);
}

/* Unreliable: a gap or an error costs the message, and nobody is told. */
void responder_handle_uc(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	bool is_next = p->psn == r->psn;

	r->psn = (p->psn + 1) & PSN_MASK;
	if (!is_next || (p->properties & PACKET_FIRST))
		r->open = MESSAGE_NONE;
	if (r->open == MESSAGE_NONE && !(p->properties & PACKET_FIRST))
		return;
	if (responder_take(qp, p) != VERDICT_OK)
		r->open = MESSAGE_NONE;
}
