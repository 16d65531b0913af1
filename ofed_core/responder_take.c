/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder_take: the data of SEND and WRITE packets that are in order.
 */
#include "responder.h"

#include <errno.h>

static unsigned mtu_of(const struct qp *qp)
{
	return mtu_bytes(qp->attr.path_mtu);
}

/* InfiniBand 9.7.4: the length of each packet follows from its place. */
static bool is_length_right(const struct qp *qp, const struct packet *p)
{
	bool is_first = p->properties & PACKET_FIRST;
	bool is_last = p->properties & PACKET_LAST;

	if (!is_last)
		return p->payload_bytes == mtu_of(qp);
	if (p->payload_bytes > mtu_of(qp))
		return false;
	return is_first || p->payload_bytes > 0;
}

static bool is_order_right(const struct qp *qp, const struct packet *p)
{
	enum message_kind kind =
	    p->properties & PACKET_SEND ? MESSAGE_SEND : MESSAGE_WRITE;

	if (p->properties & PACKET_FIRST)
		return qp->resp.open == MESSAGE_NONE;
	return qp->resp.open == kind;
}

/* A receive that cannot be used ends the pair; the program learns why. */
static enum verdict receive_failed(struct qp *qp, enum wc_status status,
				   enum verdict v)
{
	struct ib_uverbs_wc wc = {.status = status, .opcode = WC_RECV};

	responder_complete(qp, &wc, false);
	return v;
}

static enum verdict take_receive(struct qp *qp)
{
	int rc = responder_take_recv(qp);

	if (rc == -EAGAIN)
		return VERDICT_NOT_READY;
	if (rc < 0)
		return receive_failed(qp, WC_LOC_QP_OP_ERR, VERDICT_LOCAL);
	return VERDICT_OK;
}

static enum verdict store_send(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	struct span to[MAX_SGE];
	enum verdict v;

	if (p->properties & PACKET_FIRST) {
		v = take_receive(qp);
		if (v != VERDICT_OK)
			return v;
		r->received = 0;
	}
	if (r->received + p->payload_bytes > r->recv.length)
		return receive_failed(qp, WC_LOC_LEN_ERR, VERDICT_INVALID);
	if (mr_resolve_local(qp->pd, r->recv.sge, r->recv.sge_count,
			     ACCESS_LOCAL_WRITE, to) < 0 ||
	    spans_write(to, r->recv.sge_count, r->received, p->payload,
			p->payload_bytes) < 0)
		return receive_failed(qp, WC_LOC_PROT_ERR, VERDICT_LOCAL);
	r->received += p->payload_bytes;
	return VERDICT_OK;
}

static enum verdict begin_write(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	struct span whole;

	if (!(qp->attr.access & ACCESS_REMOTE_WRITE) ||
	    p->dma_bytes > MAX_MSG_BYTES)
		return VERDICT_INVALID;
	if (mr_resolve_remote(qp->pd, p->rkey, p->address, p->dma_bytes,
			      ACCESS_REMOTE_WRITE, &whole) < 0)
		return VERDICT_ACCESS;
	r->rkey = p->rkey;
	r->address = p->address;
	r->left = p->dma_bytes;
	r->received = 0;
	return VERDICT_OK;
}

static enum verdict store_write(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	enum verdict v = VERDICT_OK;
	struct span to;

	if (p->properties & PACKET_FIRST)
		v = begin_write(qp, p);
	if (v != VERDICT_OK)
		return v;
	if (p->payload_bytes > r->left ||
	    ((p->properties & PACKET_LAST) && p->payload_bytes != r->left) ||
	    (!(p->properties & PACKET_LAST) && p->payload_bytes == r->left))
		return VERDICT_INVALID;
	if (p->properties & PACKET_HAS_IMM) {
		/* Before the data of this packet is written. */
		v = take_receive(qp);
		if (v != VERDICT_OK)
			return v;
	}
	if (mr_resolve_remote(qp->pd, r->rkey, r->address, p->payload_bytes,
			      ACCESS_REMOTE_WRITE, &to) < 0 ||
	    spans_write(&to, 1, 0, p->payload, p->payload_bytes) < 0)
		return VERDICT_ACCESS;
	r->address += p->payload_bytes;
	r->left -= p->payload_bytes;
	r->received += p->payload_bytes;
	return VERDICT_OK;
}

static void complete(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	bool is_write = p->properties & PACKET_WRITE;
	struct ib_uverbs_wc wc = {
	    .opcode = is_write ? WC_RECV_RDMA_WITH_IMM : WC_RECV,
	    .byte_len = (uint32_t)r->received,
	    .src_qp = qp->attr.dest_qpn,
	};

	if (p->properties & PACKET_HAS_IMM) {
		wc.ex.imm_data = p->imm;
		wc.wc_flags = WC_WITH_IMM;
	}
	if (!is_write || (p->properties & PACKET_HAS_IMM))
		responder_complete(qp, &wc, p->is_solicited);
}

enum verdict responder_take(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	bool is_send = p->properties & PACKET_SEND;
	enum verdict v;

	if (!is_order_right(qp, p) || !is_length_right(qp, p))
		return VERDICT_INVALID;
	v = is_send ? store_send(qp, p) : store_write(qp, p);
	if (v != VERDICT_OK)
		return v;
	responder_established(qp);
	r->open = is_send ? MESSAGE_SEND : MESSAGE_WRITE;
	if (p->properties & PACKET_LAST) {
		r->open = MESSAGE_NONE;
		complete(qp, p);
	}
	return VERDICT_OK;
}
