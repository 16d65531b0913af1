/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder_take: the data of SEND and WRITE packets that are in order.
 */
#include "ofed_core/rc/responder.h"

#include <errno.h>

#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/receive.h"
#include "ofed_core/verbs/remote.h"
#include "ofed_core/wire/wire.h"

_Static_assert(WIRE_BATCH <= PIECES_MAX, "a run is written at once");

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

	receive_complete(qp, &wc, false);
	return v;
}

static enum verdict take_receive(struct qp *qp)
{
	int rc = receive_take(qp);

	if (rc == -EAGAIN)
		return VERDICT_NOT_READY;
	if (rc < 0)
		return receive_failed(qp, WC_LOC_QP_OP_ERR, VERDICT_LOCAL);
	return VERDICT_OK;
}

/* Consecutive packets of one message, written to memory at once. */
struct run {
	const struct packet *const *p;
	unsigned count;
	const struct packet *last;
	uint64_t bytes;
	struct iovec pieces[WIRE_BATCH];
};

static void run_add(struct run *run, const struct packet *p)
{
	run->pieces[run->count++] =
	    (struct iovec){(void *)(uintptr_t)p->payload, p->payload_bytes};
	run->bytes += p->payload_bytes;
	run->last = p;
}

/*
 * p[0] was judged; those that carry on as they should join it. The immediate
 * of a WRITE may have to wait for a receive, so its packet stands alone.
 */
static void run_collect(struct run *run, const struct qp *qp,
			const struct packet *const *p, unsigned count)
{
	const uint32_t same = PACKET_SEND | PACKET_WRITE;

	*run = (struct run){.p = p};
	run_add(run, p[0]);
	for (unsigned i = 1; i < count && i < WIRE_BATCH; i++) {
		if ((run->last->properties & PACKET_LAST) ||
		    p[i]->psn != ((run->last->psn + 1) & PSN_MASK) ||
		    (p[i]->properties & same) != (p[0]->properties & same) ||
		    (p[i]->properties & PACKET_FIRST) ||
		    ((p[i]->properties & PACKET_HAS_IMM) &&
		     (p[i]->properties & PACKET_WRITE)) ||
		    !is_length_right(qp, p[i]))
			return;
		run_add(run, p[i]);
	}
}

static enum verdict store_send(struct qp *qp, const struct run *run)
{
	struct responder *r = &qp->resp;
	struct span to[MAX_SGE];
	enum verdict v;

	if (run->p[0]->properties & PACKET_FIRST) {
		v = take_receive(qp);
		if (v != VERDICT_OK)
			return v;
		r->received = 0;
	}
	if (r->received + run->bytes > r->recv.length)
		return receive_failed(qp, WC_LOC_LEN_ERR, VERDICT_INVALID);
	if (mr_resolve_local(qp->pd, r->recv.sge, r->recv.sge_count,
			     ACCESS_LOCAL_WRITE, to) < 0 ||
	    spans_gather(to, r->recv.sge_count, r->received, run->pieces,
			 run->count) < 0)
		return receive_failed(qp, WC_LOC_PROT_ERR, VERDICT_LOCAL);
	r->received += run->bytes;
	return VERDICT_OK;
}

static enum verdict begin_write(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	struct span whole;

	if (!(qp->attr.access & ACCESS_REMOTE_WRITE) ||
	    p->dma_bytes > MAX_MSG_BYTES)
		return VERDICT_INVALID;
	if (remote_resolve(qp, p->rkey, ACCESS_REMOTE_WRITE, p->address,
			   p->dma_bytes, &whole) < 0)
		return VERDICT_ACCESS;
	r->rkey = p->rkey;
	r->address = p->address;
	r->left = p->dma_bytes;
	r->received = 0;
	return VERDICT_OK;
}

static enum verdict store_write(struct qp *qp, const struct run *run)
{
	struct responder *r = &qp->resp;
	bool ends = run->last->properties & PACKET_LAST;
	enum verdict v = VERDICT_OK;
	struct span to;

	if (run->p[0]->properties & PACKET_FIRST)
		v = begin_write(qp, run->p[0]);
	if (v != VERDICT_OK)
		return v;
	if (run->bytes > r->left || ends != (run->bytes == r->left))
		return VERDICT_INVALID;
	if (run->p[0]->properties & PACKET_HAS_IMM) {
		/* Before the data of this packet is written. */
		v = take_receive(qp);
		if (v != VERDICT_OK)
			return v;
	}
	if (remote_resolve(qp, r->rkey, ACCESS_REMOTE_WRITE, r->address,
			   run->bytes, &to) < 0 ||
	    spans_gather(&to, 1, 0, run->pieces, run->count) < 0)
		return VERDICT_ACCESS;
	r->address += run->bytes;
	r->left -= run->bytes;
	r->received += run->bytes;
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
	if (p->properties & PACKET_HAS_IETH) {
		wc.ex.invalidate_rkey = p->invalidate;
		wc.wc_flags = WC_WITH_INV;
	}
	if (!is_write || (p->properties & PACKET_HAS_IMM))
		receive_complete(qp, &wc, p->is_solicited);
}

enum verdict responder_take(struct qp *qp, const struct packet *const *p,
			    unsigned count, unsigned *taken)
{
	struct responder *r = &qp->resp;
	bool is_send = p[0]->properties & PACKET_SEND;
	struct run run;
	enum verdict v;

	*taken = 1;
	if (!is_order_right(qp, p[0]) || !is_length_right(qp, p[0]))
		return VERDICT_INVALID;
	run_collect(&run, qp, p, count);
	v = is_send ? store_send(qp, &run) : store_write(qp, &run);
	if (v != VERDICT_OK)
		return v;
	if ((run.last->properties & PACKET_HAS_IETH) &&
	    mw_invalidate(qp, run.last->invalidate) < 0)
		return receive_failed(qp, WC_REM_INV_REQ_ERR, VERDICT_INVALID);
	*taken = run.count;
	receive_established(qp);
	r->open = is_send ? MESSAGE_SEND : MESSAGE_WRITE;
	if (run.last->properties & PACKET_LAST) {
		r->open = MESSAGE_NONE;
		complete(qp, run.last);
	}
	return VERDICT_OK;
}
