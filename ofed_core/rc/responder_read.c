/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder_read: answers to READ requests.
 *
 * One request may ask for a gigabyte. It is answered in turns, so that others
 * are served in between; what arrives behind it waits (responder_hold.c), as
 * answers go in order, and a WRITE must not change what is still to be read.
 */
#include "ofed_core/rc/responder.h"

#include "ofed_core/rc/requester.h"
#include "ofed_core/verbs/receive.h"
#include "ofed_core/verbs/remote.h"
#include "ofed_core/wire/wire.h"

#define READ_TURN  256 /* packets before others have their turn */
#define READ_BURST 64  /* packets whose data is fetched at once */

static uint8_t read_opcode(uint32_t i, uint32_t n)
{
	if (n == 1)
		return OP_READ_ONLY;
	if (i == 0)
		return OP_READ_FIRST;
	return i == n - 1 ? OP_READ_LAST : OP_READ_MIDDLE;
}

void responder_respond(struct qp *qp, const struct response *a)
{
	struct packet p = {.opcode = TRANSPORT_RC | read_opcode(a->i, a->n),
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = (a->psn + a->i) & PSN_MASK,
			   .syndrome = AETH_ACK | AETH_ACK_UNLIMITED,
			   .msn = qp->resp.msn,
			   .payload = a->data,
			   .payload_bytes = a->bytes};

	wire_send(&qp->attr.address, &p);
}

static uint32_t total(const struct qp *qp)
{
	return packets_of(qp->resp.reading.bytes, mtu_bytes(qp->attr.path_mtu));
}

/* What is left of it: regions may go, and windows be closed, in between. */
static enum verdict resolve(const struct qp *qp, struct span *from)
{
	const struct reading *r = &qp->resp.reading;
	uint64_t at = (uint64_t)r->sent * mtu_bytes(qp->attr.path_mtu);
	int rc = remote_resolve(qp, r->rkey, ACCESS_REMOTE_READ,
				r->address + at, r->bytes - at, from);

	return rc < 0 ? VERDICT_ACCESS : VERDICT_OK;
}

/* Up to `count` packets of what is left, which lies at `from`. */
static enum verdict send_some(struct qp *qp, const struct span *from,
			      uint32_t count)
{
	struct reading *r = &qp->resp.reading;
	const uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	const uint32_t n = total(qp);
	uint64_t at = 0;

	for (uint32_t done = 0; done < count; done += READ_BURST) {
		uint64_t bytes = from->bytes - at;
		uint64_t skip = 0;
		uint8_t *data;

		if (bytes > (uint64_t)READ_BURST * mtu)
			bytes = (uint64_t)READ_BURST * mtu;
		data = wire_space(bytes);
		if (!data)
			return VERDICT_LOCAL;
		if (spans_read(from, 1, at, data, bytes) < 0)
			return VERDICT_ACCESS;
		do {
			size_t size = bytes - skip < mtu ? bytes - skip : mtu;
			const struct response a = {.psn = r->psn,
						   .i = r->sent++,
						   .n = n,
						   .data = data + skip,
						   .bytes = size};

			responder_respond(qp, &a);
			skip += size;
		} while (skip < bytes);
		at += bytes;
	}
	return VERDICT_OK;
}

void responder_read_turn(struct qp *qp)
{
	struct reading *r = &qp->resp.reading;
	uint32_t count = total(qp) - r->sent;
	struct span from;
	enum verdict v = resolve(qp, &from);

	if (count > READ_TURN)
		count = READ_TURN;
	if (v == VERDICT_OK)
		v = send_some(qp, &from, count);
	if (v != VERDICT_OK) {
		uint32_t psn = (r->psn + r->sent) & PSN_MASK;

		r->is_active = false;
		if (!r->is_repeat)
			qp->resp.psn = psn;
		responder_refuse(qp, v, psn);
		return;
	}
	r->is_active = r->sent < total(qp);
	if (r->is_active)
		work_post(&qp->answer);
}

static bool is_allowed(const struct qp *qp, const struct packet *p)
{
	return (qp->attr.access & ACCESS_REMOTE_READ) &&
	       qp->attr.max_dest_rd_atomic && p->dma_bytes <= MAX_MSG_BYTES;
}

static void begin(struct qp *qp, const struct packet *p)
{
	qp->resp.reading = (struct reading){.psn = p->psn,
					    .rkey = p->rkey,
					    .address = p->address,
					    .bytes = p->dma_bytes};
}

enum verdict responder_read(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	struct span from;

	if (!is_allowed(qp, p) || r->open != MESSAGE_NONE)
		return VERDICT_INVALID;
	begin(qp, p);
	if (resolve(qp, &from) != VERDICT_OK)
		return VERDICT_ACCESS;
	receive_established(qp);
	responder_pay_ack(qp);
	r->msn++;
	r->psn = (p->psn + total(qp)) & PSN_MASK;
	responder_read_turn(qp);
	return VERDICT_OK;
}

void responder_read_again(struct qp *qp, const struct packet *p)
{
	struct reading *r = &qp->resp.reading;
	bool was_active = r->is_active;

	if (!is_allowed(qp, p)) {
		responder_refuse(qp, VERDICT_INVALID, p->psn);
		return;
	}
	/* Only what was asked before may be asked again. */
	if (psn_diff(p->psn +
			 packets_of(p->dma_bytes, mtu_bytes(qp->attr.path_mtu)),
		     qp->resp.psn) > 0)
		return;
	begin(qp, p);
	r->is_repeat = true;
	/* A peer that asks again and again gets no more turns than others. */
	r->is_active = was_active;
	if (!was_active)
		responder_read_turn(qp);
}
