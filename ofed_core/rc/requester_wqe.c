/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * requester_wqe: send requests: copied out of the ring, judged, completed.
 */
#include "ofed_core/rc/requester.h"

#include <string.h>

#include "ofed_core/base/log.h"
#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"

#define NUMBERS_MAX (1 << 22)

struct wqe *requester_wqe(struct qp *qp, uint32_t counter)
{
	return &qp->req.wqes[counter & (qp->req.slots - 1)];
}

uint32_t packets_of(uint32_t bytes, uint32_t mtu)
{
	return bytes ? (bytes - 1) / mtu + 1 : 1;
}

static bool is_supported(enum qp_type type, uint32_t opcode)
{
	switch (opcode) {
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
		return true;
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		return type == QP_RC || type == QP_UC;
	case IB_UVERBS_WR_BIND_MW:
	case IB_UVERBS_WR_LOCAL_INV:
		return type == QP_RC || type == QP_UC;
	case IB_UVERBS_WR_RDMA_READ:
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
	case IB_UVERBS_WR_SEND_WITH_INV:
	case WR_ATOMIC_WRITE:
		return type == QP_RC;
	default:
		return false;
	}
}

static void copy_operation(struct wqe *w, const struct rxe_send_wr *wr,
			   enum qp_type type)
{
	w->wr_id = wr->wr_id;
	w->opcode = wr->opcode;
	w->flags = wr->send_flags;
	w->imm = wr->ex.imm_data;
	if (type == QP_UD) {
		w->ud_qpn = wr->wr.ud.remote_qpn & 0xffffff;
		w->ud_qkey = wr->wr.ud.remote_qkey;
		w->ah_number = wr->wr.ud.ah_num;
	} else if (wr->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD) {
		w->remote_address = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
	} else if (wr->opcode == IB_UVERBS_WR_BIND_MW) {
		w->bind = (struct mw_bind){.address = wr->wr.mw.addr,
					   .length = wr->wr.mw.length,
					   .lkey = wr->wr.mw.mr_lkey,
					   .rkey = wr->wr.mw.mw_rkey,
					   .new_rkey = wr->wr.mw.rkey,
					   .access = wr->wr.mw.access};
	} else {
		w->remote_address = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
	/* The provider puts its eight bytes where inline data stands. */
	if (wr->opcode == WR_ATOMIC_WRITE)
		w->flags |= SEND_INLINE;
}

static void copy_data(struct qp *qp, struct wqe *w,
		      const struct rxe_send_wqe *fixed,
		      const unsigned char *shared)
{
	const unsigned char *data =
	    shared + offsetof(struct rxe_send_wqe, dma.inline_data);
	struct rxe_sge sge[MAX_SGE];
	uint64_t length = 0;

	if (w->flags & SEND_INLINE) {
		w->is_inline = true;
		if (fixed->dma.length > qp->max_inline) {
			w->error = WC_LOC_LEN_ERR;
			return;
		}
		w->length = fixed->dma.length;
		memcpy(w->data, data, w->length);
		return;
	}
	if (fixed->dma.num_sge > qp->max_send_sge) {
		w->error = WC_LOC_QP_OP_ERR;
		return;
	}
	memcpy(sge, data, fixed->dma.num_sge * sizeof(sge[0]));
	w->sge_count = fixed->dma.num_sge;
	for (uint32_t i = 0; i < w->sge_count; i++) {
		w->sge[i] =
		    (struct sge){sge[i].addr, sge[i].length, sge[i].lkey};
		length += sge[i].length;
	}
	if (length > MAX_MSG_BYTES)
		w->error = WC_LOC_LEN_ERR;
	else
		w->length = (uint32_t)length;
}

static void wqe_copy(struct qp *qp, struct wqe *w, const unsigned char *shared)
{
	struct rxe_send_wqe fixed;
	bool is_atomic;

	memcpy(&fixed, shared, sizeof(fixed));
	memset(w, 0, offsetof(struct wqe, sge));
	copy_operation(w, &fixed.wr, qp->type);
	if (!is_supported(qp->type, w->opcode)) {
		w->error = WC_LOC_QP_OP_ERR;
		return;
	}
	if (wqe_is_local(w))
		return;
	copy_data(qp, w, &fixed, shared);
	is_atomic = w->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
		    w->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
	if ((is_atomic || w->opcode == WR_ATOMIC_WRITE) && w->length != 8)
		w->error = WC_LOC_LEN_ERR;
	if (w->is_inline && (is_atomic || w->opcode == IB_UVERBS_WR_RDMA_READ))
		w->error = WC_LOC_QP_OP_ERR;
}

static void assign_psns(struct qp *qp, struct wqe *w)
{
	struct requester *r = &qp->req;
	uint32_t n = 1;

	if (wqe_is_local(w))
		n = 0;
	else if (qp->type != QP_UD)
		n = packets_of(w->length, mtu_bytes(qp->attr.path_mtu));
	w->first_psn = r->psn;
	w->last_psn = (r->psn + n - 1) & PSN_MASK;
	w->response_psn = w->first_psn;
	r->psn = (r->psn + n) & PSN_MASK;
}

/*
 * Sequence numbers compare over half their range only. The longest message has
 * a quarter of it: another may be added while less than a quarter is in use.
 */
static bool has_numbers(const struct qp *qp)
{
	const struct requester *r = &qp->req;

	return qp->type == QP_UD || qp->is_local ||
	       atomic_load(&((struct qp *)(uintptr_t)qp)->state) == QP_ERR ||
	       psn_diff(r->psn, r->una) < NUMBERS_MAX;
}

void requester_take(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint32_t waiting = ring_waiting(qp->sq);

	/* The ring's index stands at the tail: it moves on completion. */
	while (r->head - r->tail < waiting && r->head - r->tail < r->slots &&
	       has_numbers(qp)) {
		struct wqe *w = requester_wqe(qp, r->head);

		wqe_copy(qp, w, ring_peek(qp->sq, r->head - r->tail));
		assign_psns(qp, w);
		r->head++;
	}
}

bool requester_has_posted(const struct qp *qp)
{
	const struct requester *r = &qp->req;

	atomic_thread_fence(memory_order_seq_cst);
	return r->head - r->tail < r->slots && has_numbers(qp) &&
	       ring_waiting(qp->sq) > r->head - r->tail;
}

int wqe_spans(const struct qp *qp, const struct wqe *w, uint32_t access,
	      struct span *out, unsigned *count)
{
	if (w->is_inline) {
		*out = (struct span){.address = (uintptr_t)w->data,
				     .bytes = w->length};
		*count = 1;
		return 0;
	}
	*count = w->sge_count;
	return mr_resolve_local(qp->pd, w->sge, w->sge_count, access, out);
}

static uint32_t completion_opcode(uint32_t opcode)
{
	switch (opcode) {
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		return IB_UVERBS_WC_RDMA_WRITE;
	case IB_UVERBS_WR_RDMA_READ:
		return IB_UVERBS_WC_RDMA_READ;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
		return IB_UVERBS_WC_COMP_SWAP;
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		return IB_UVERBS_WC_FETCH_ADD;
	case IB_UVERBS_WR_BIND_MW:
		return IB_UVERBS_WC_BIND_MW;
	case IB_UVERBS_WR_LOCAL_INV:
		return IB_UVERBS_WC_LOCAL_INV;
	case WR_ATOMIC_WRITE:
		return WC_ATOMIC_WRITE;
	default:
		return IB_UVERBS_WC_SEND;
	}
}

void requester_complete(struct qp *qp, enum wc_status status)
{
	struct requester *r = &qp->req;
	struct wqe *w = requester_wqe(qp, r->tail);
	struct ib_uverbs_wc wc = {.wr_id = w->wr_id,
				  .status = status,
				  .opcode = completion_opcode(w->opcode),
				  .byte_len = w->length};

	r->tail++;
	ring_consume(qp->sq, 1);
	if (status != WC_SUCCESS || qp->sig_all || (w->flags & SEND_SIGNALED))
		qp_complete(qp, qp->send_cq, &wc, false);
}

void requester_fail(struct qp *qp, enum wc_status status)
{
	log_debug("queue pair %#x: request of type %u failed with status %d",
		  qp->qpn, requester_wqe(qp, qp->req.tail)->opcode,
		  (int)status);
	requester_complete(qp, status);
	qp->req.wait = WAIT_NOTHING;
	if (qp->type == QP_RC)
		qp_set_error(qp);
	else if (atomic_load(&qp->state) != QP_ERR)
		atomic_store(&qp->state, QP_SQE);
}

bool requester_do_local(struct qp *qp, struct wqe *w)
{
	enum wc_status status = w->error;

	if (status == WC_SUCCESS && w->opcode == IB_UVERBS_WR_BIND_MW) {
		if (mw_bind(qp, &w->bind) < 0)
			status = WC_MW_BIND_ERR;
	} else if (status == WC_SUCCESS && mw_invalidate(qp, w->imm) < 0) {
		status = WC_LOC_QP_OP_ERR;
	}
	if (status == WC_SUCCESS)
		requester_complete(qp, status);
	else
		requester_fail(qp, status);
	return status == WC_SUCCESS;
}

void requester_flush(struct qp *qp)
{
	struct requester *r = &qp->req;

	r->wait = WAIT_NOTHING;
	requester_take(qp);
	for (uint32_t n = 0; n < r->slots && r->tail != r->head; n++) {
		requester_complete(qp, WC_WR_FLUSH_ERR);
		requester_take(qp);
	}
	/* A ring that fills as fast as it is emptied: others have a turn. */
	if (r->tail != r->head)
		work_post(&qp->work);
}

void requester_reset(struct qp *qp)
{
	struct requester *r = &qp->req;

	timer_cancel(&qp->timer);
	*r = (struct requester){.wqes = r->wqes, .slots = r->slots};
}

void requester_start(struct qp *qp)
{
	struct requester *r = &qp->req;

	requester_reset(qp);
	window_init(&r->window);
	r->psn = r->send_psn = r->sent_end = r->una = qp->attr.sq_psn;
	r->window.narrowed = r->psn;
}

void requester_drained(struct qp *qp)
{
	struct requester *r = &qp->req;

	if (r->wait != WAIT_NOTHING || r->has_drained || !qp->attr.sqd_notify)
		return;
	r->has_drained = true;
	event_send(qp->o.client, &qp->o, EVENT_SQ_DRAINED);
}
