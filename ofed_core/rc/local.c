/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * local: messages within this core.
 *
 * A message is copied whole, from program to program, with the checks,
 * completions and errors that packets would have brought.
 *
 * Locking: sq_lock of the requester, then rq_lock of the peer.
 */
#include "ofed_core/rc/local.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/rc/requester.h"
#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/verbs/receive.h"
#include "ofed_core/verbs/remote.h"

#define REQUESTS_MAX 64         /* before other pairs have their turn */
#define BYTES_MAX    (8u << 20) /* the same, for long messages */

enum outcome {
	DONE,
	NO_ANSWER, /* as if the packets were lost */
	NOT_READY, /* the peer has no receive posted */
	BROKEN,    /* *status says how */
};

struct transfer {
	struct qp *qp;
	struct qp *peer;
	struct wqe *w;
	struct span local[MAX_SGE];
	unsigned local_count;
	enum wc_status status;
};

static bool is_answering(const struct qp *qp, const struct qp *peer)
{
	enum qp_state s;

	if (!peer || peer->type != qp->type || !peer->is_local ||
	    peer->attr.dest_qpn != qp->qpn ||
	    memcmp(peer->attr.address.dgid, qp->attr.address.sgid, 16) != 0 ||
	    memcmp(peer->attr.address.sgid, qp->attr.address.dgid, 16) != 0)
		return false;
	s = atomic_load(&((struct qp *)(uintptr_t)peer)->state);
	return s == QP_RTR || s == QP_RTS || s == QP_SQD || s == QP_SQE;
}

static enum outcome broken(struct transfer *t, enum wc_status status)
{
	t->status = status;
	return BROKEN;
}

/* The peer found an error in its own receive: both pairs end. */
static enum outcome peer_broken(struct transfer *t, enum wc_status at_peer,
				enum wc_status here)
{
	struct ib_uverbs_wc wc = {.status = at_peer, .opcode = WC_RECV};

	if (t->peer->resp.has_recv)
		receive_complete(t->peer, &wc, false);
	qp_set_error(t->peer);
	return broken(t, here);
}

static enum outcome peer_refuses(struct transfer *t, enum event_type event,
				 enum wc_status here)
{
	event_send(t->peer->o.client, &t->peer->o, event);
	qp_set_error(t->peer);
	return broken(t, here);
}

/* What receive_atomic() and its like say of a request. */
static enum outcome judge(struct transfer *t, int rc)
{
	if (rc == -EINVAL)
		return peer_refuses(t, EVENT_QP_REQ_ERR, WC_REM_INV_REQ_ERR);
	if (rc < 0)
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_ACCESS_ERR);
	return DONE;
}

static void complete_receive(struct transfer *t, uint32_t opcode)
{
	struct ib_uverbs_wc wc = {.opcode = opcode, .byte_len = t->w->length};
	bool has_imm = t->w->opcode == IB_UVERBS_WR_SEND_WITH_IMM ||
		       t->w->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;

	if (has_imm) {
		wc.ex.imm_data = t->w->imm;
		wc.wc_flags = WC_WITH_IMM;
	}
	if (t->w->opcode == IB_UVERBS_WR_SEND_WITH_INV) {
		wc.ex.invalidate_rkey = t->w->imm;
		wc.wc_flags = WC_WITH_INV;
	}
	wc.src_qp = t->qp->qpn;
	receive_complete(t->peer, &wc, t->w->flags & SEND_SOLICITED);
}

static enum outcome take_receive(struct transfer *t)
{
	int rc = receive_take(t->peer);

	if (rc == -EAGAIN)
		return NOT_READY;
	if (rc < 0)
		return peer_broken(t, WC_LOC_QP_OP_ERR, WC_REM_OP_ERR);
	return DONE;
}

static enum outcome do_send(struct transfer *t)
{
	struct responder *r = &t->peer->resp;
	struct span to[MAX_SGE];
	enum outcome taken = take_receive(t);
	int rc;

	if (taken != DONE)
		return taken;
	if (t->w->length > r->recv.length)
		return peer_broken(t, WC_LOC_LEN_ERR, WC_REM_INV_REQ_ERR);
	if (mr_resolve_local(t->peer->pd, r->recv.sge, r->recv.sge_count,
			     ACCESS_LOCAL_WRITE, to) < 0)
		return peer_broken(t, WC_LOC_PROT_ERR, WC_REM_OP_ERR);
	rc = spans_copy(to, r->recv.sge_count, 0, t->local, t->local_count,
			t->w->length);
	if (rc == -EACCES)
		return peer_broken(t, WC_LOC_PROT_ERR, WC_REM_OP_ERR);
	/* The peer has nothing to do with it, and keeps its receive. */
	if (rc < 0)
		return broken(t, WC_LOC_PROT_ERR);
	if (t->w->opcode == IB_UVERBS_WR_SEND_WITH_INV &&
	    mw_invalidate(t->peer, t->w->imm) < 0)
		return peer_broken(t, WC_REM_INV_REQ_ERR, WC_REM_INV_REQ_ERR);
	complete_receive(t, WC_RECV);
	return DONE;
}

/* What the request addresses at the peer. */
static int resolve(const struct transfer *t, uint32_t access, struct span *out)
{
	return remote_resolve(t->peer, t->w->rkey, access, t->w->remote_address,
			      t->w->length, out);
}

static enum outcome do_write(struct transfer *t)
{
	bool has_imm = t->w->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
	struct span to;
	int rc;

	if (!(t->peer->attr.access & ACCESS_REMOTE_WRITE))
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_INV_REQ_ERR);
	if (resolve(t, ACCESS_REMOTE_WRITE, &to) < 0)
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_ACCESS_ERR);
	if (has_imm) {
		enum outcome taken = take_receive(t);

		if (taken != DONE)
			return taken;
	}
	rc = spans_copy(&to, 1, 0, t->local, t->local_count, t->w->length);
	if (rc == -EACCES)
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_ACCESS_ERR);
	if (rc < 0)
		return broken(t, WC_LOC_PROT_ERR);
	if (has_imm)
		complete_receive(t, WC_RECV_RDMA_WITH_IMM);
	return DONE;
}

static enum outcome do_read(struct transfer *t)
{
	struct span from;
	int rc;

	if (!(t->peer->attr.access & ACCESS_REMOTE_READ))
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_INV_REQ_ERR);
	if (resolve(t, ACCESS_REMOTE_READ, &from) < 0)
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_ACCESS_ERR);
	rc = spans_copy(t->local, t->local_count, 0, &from, 1, t->w->length);
	if (rc == -EFAULT)
		return peer_refuses(t, EVENT_QP_ACCESS_ERR, WC_REM_ACCESS_ERR);
	if (rc < 0)
		return broken(t, WC_LOC_PROT_ERR);
	return DONE;
}

static enum outcome do_atomic(struct transfer *t)
{
	const struct atomic_request a = {
	    .opcode = t->w->opcode,
	    .rkey = t->w->rkey,
	    .address = t->w->remote_address,
	    .compare_add = t->w->compare_add,
	    .swap = t->w->swap,
	};
	uint64_t original = 0;
	enum outcome o = judge(t, receive_atomic(t->peer, &a, &original));

	if (o != DONE)
		return o;
	if (spans_write(t->local, t->local_count, 0, &original, 8) < 0)
		return broken(t, WC_LOC_PROT_ERR);
	return DONE;
}

static enum outcome do_atomic_write(struct transfer *t)
{
	uint64_t value;

	memcpy(&value, t->w->data, sizeof(value));
	return judge(t, receive_atomic_write(t->peer, t->w->rkey,
					     t->w->remote_address, value));
}

static enum outcome execute(struct transfer *t)
{
	switch (t->w->opcode) {
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_INV:
	case IB_UVERBS_WR_SEND_WITH_IMM:
		return do_send(t);
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		return do_write(t);
	case IB_UVERBS_WR_RDMA_READ:
		return do_read(t);
	case WR_ATOMIC_WRITE:
		return do_atomic_write(t);
	default:
		return do_atomic(t);
	}
}

static bool writes_here(uint32_t opcode)
{
	return opcode == IB_UVERBS_WR_RDMA_READ ||
	       opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
}

static enum outcome transfer(struct transfer *t)
{
	enum outcome o;

	if (t->w->error != WC_SUCCESS)
		return broken(t, t->w->error);
	if (wqe_spans(t->qp, t->w,
		      writes_here(t->w->opcode) ? ACCESS_LOCAL_WRITE : 0,
		      t->local, &t->local_count) < 0)
		return broken(t, WC_LOC_PROT_ERR);
	t->peer = qp_find(t->qp->attr.dest_qpn);
	if (!is_answering(t->qp, t->peer))
		return NO_ANSWER;
	pthread_mutex_lock(&t->peer->rq_lock);
	/* It may have failed while we waited for the lock. */
	o = is_answering(t->qp, t->peer) ? execute(t) : NO_ANSWER;
	if (o == DONE)
		receive_established(t->peer);
	pthread_mutex_unlock(&t->peer->rq_lock);
	return o;
}

/* One request; false when the pair must wait or has failed. */
static bool step(struct qp *qp, struct wqe *w)
{
	struct transfer t = {.qp = qp, .w = w};
	enum outcome o = transfer(&t);

	/* An unreliable sender never learns what became of its message. */
	if (qp->type == QP_UC && w->error == WC_SUCCESS &&
	    (o != BROKEN || t.status != WC_LOC_PROT_ERR))
		o = DONE;
	switch (o) {
	case DONE:
		requester_progress(qp);
		requester_complete(qp, WC_SUCCESS);
		return true;
	case NO_ANSWER:
		requester_await_ack(qp);
		return false;
	case NOT_READY:
		if (requester_may_retry_rnr(qp))
			requester_await_rnr(qp, t.peer->attr.min_rnr_timer);
		else
			requester_fail(qp, WC_RNR_RETRY_EXC_ERR);
		return false;
	case BROKEN:
		requester_fail(qp, t.status);
		return false;
	}
	return false;
}

void local_run(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint64_t bytes = 0;
	unsigned count = 0;

	if (atomic_load(&qp->state) != QP_RTS)
		return;
	requester_take(qp);
	while (r->wait == WAIT_NOTHING && r->tail != r->head) {
		struct wqe *w = requester_wqe(qp, r->tail);

		if (count++ == REQUESTS_MAX || bytes > BYTES_MAX) {
			work_post(&qp->work);
			return;
		}
		bytes += w->length;
		if (wqe_is_local(w) ? !requester_do_local(qp, w) : !step(qp, w))
			return;
		requester_take(qp);
	}
}
