/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_state: queue pairs: what their types do, state changes, errors.
 */
#include "ofed_core/qp/qp_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/base/shim_protocol.h"
#include "ofed_core/qp/qp_watch.h"
#include "ofed_core/rc/local.h"
#include "ofed_core/rc/qp_echo.h"
#include "ofed_core/rc/requester.h"
#include "ofed_core/rc/responder.h"
#include "ofed_core/ud/mcast.h"
#include "ofed_core/ud/ud.h"
#include "ofed_core/verbs/address.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_attr.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/verbs/receive.h"

/* A pair that keeps posting has these before others have one. */
#define TURNS 4

static void on_work(struct work *k)
{
	qp_run((struct qp *)((char *)k - offsetof(struct qp, work)));
}

static void on_answer(struct work *k)
{
	struct qp *qp = (struct qp *)((char *)k - offsetof(struct qp, answer));

	pthread_mutex_lock(&qp->rq_lock);
	qp->ops->answer(qp);
	pthread_mutex_unlock(&qp->rq_lock);
}

static void on_timer(struct timer *t)
{
	struct qp *qp = (struct qp *)((char *)t - offsetof(struct qp, timer));

	pthread_mutex_lock(&qp->sq_lock);
	qp->ops->timer(qp);
	pthread_mutex_unlock(&qp->sq_lock);
	qp_run(qp);
}

static void run_connected(struct qp *qp)
{
	if (qp->is_local)
		local_run(qp);
	else
		requester_run(qp);
}

const struct qp_ops *qp_ops_of(enum qp_type type)
{
	static const struct qp_ops reliable = {
	    .transport = TRANSPORT_RC,
	    .run = run_connected,
	    .timer = requester_timer,
	    .answer = responder_go_on,
	    .take_requests = responder_handle,
	    .take_answers = requester_handle,
	};
	static const struct qp_ops unreliable = {
	    .transport = TRANSPORT_UC,
	    .run = run_connected,
	    .timer = requester_timer,
	    .answer = responder_go_on,
	    .take_requests = responder_handle_uc,
	};
	static const struct qp_ops datagrams = {
	    .transport = TRANSPORT_UD,
	    .run = ud_run,
	};

	switch (type) {
	case QP_RC:
		return &reliable;
	case QP_UC:
		return &unreliable;
	case QP_UD:
		return &datagrams;
	}
	return NULL;
}

int qp_open(struct qp *qp)
{
	struct worker *w;
	int rc = qp_register(qp);

	if (rc < 0)
		return rc;
	w = qpn_worker(qp->qpn);
	qp->ops = qp_ops_of(qp->type);
	work_init(&qp->work, w, on_work);
	work_init(&qp->answer, w, on_answer);
	timer_init(&qp->timer, w, on_timer);
	return 0;
}

void qp_destroy(struct object *o)
{
	struct qp *qp = (struct qp *)o;
	struct client *c = o->client;

	timer_cancel(&qp->timer);
	work_cancel(&qp->work);
	work_cancel(&qp->answer);
	qp_echo_keep(qp);
	mcast_forget(qp);
	mw_forget(qp);
	responder_reset(qp);
	qp_unregister(qp);
	quota_give(c->quota, QUOTA_BYTES, wqe_bytes(qp));
	object_drop(&qp->pd->o);
	object_drop(&qp->send_cq->o);
	object_drop(&qp->recv_cq->o);
	if (qp->srq)
		object_drop(&qp->srq->o);
	object_ring_drop(c, qp->sq);
	object_ring_drop(c, qp->rq);
	pthread_mutex_destroy(&qp->sq_lock);
	pthread_mutex_destroy(&qp->rq_lock);
	free(qp->req.wqes);
	free(qp);
}

/* Completes every receive with WR_FLUSH_ERR. rq_lock is held. */
static void flush_receives(struct qp *qp)
{
	struct responder *r = &qp->resp;
	const uint32_t most = qp->rq ? ring_capacity(qp->rq) : 1;
	bool had = r->has_recv;
	uint32_t n = 0;

	while (n <= most &&
	       (r->has_recv || (!qp->srq && receive_take(qp) != -EAGAIN))) {
		struct ib_uverbs_wc wc = {.status = WC_WR_FLUSH_ERR,
					  .opcode = WC_RECV};

		receive_complete(qp, &wc, false);
		n++;
	}
	/* A ring that fills as fast as it is emptied: others have a turn. */
	if (n > most)
		work_post(&qp->work);
	if (qp->srq && !r->has_comm_est)
		return;
	if (qp->srq && (had || r->has_comm_est)) {
		/* Said once: the flag is free for that in the error state. */
		r->has_comm_est = false;
		event_send(qp->o.client, &qp->o, EVENT_QP_LAST_WQE);
	}
}

/*
 * While the ring is looked at, the program need not ring. What it posts before
 * it sees the word fall is seen here after that: both sides write, then read.
 * That holds as well when the pair was run for another reason, an answer or a
 * timer, and found nothing new.
 */
static bool run_once(struct qp *qp)
{
	ring_tell(qp->sq, SHIM_RING_POLLED, 1);
	qp->ops->run(qp);
	ring_tell(qp->sq, SHIM_RING_POLLED, qp->is_watched);
	return requester_has_posted(qp) && atomic_load(&qp->state) == QP_RTS;
}

static void run_until_quiet(struct qp *qp)
{
	uint32_t first = qp->req.head;
	unsigned turns = 0;

	while (run_once(qp)) {
		if (++turns < TURNS)
			continue;
		/* It is looked at again before anybody sleeps. */
		ring_tell(qp->sq, SHIM_RING_POLLED, 1);
		work_post(&qp->work);
		break;
	}
	if (qp->req.head != first)
		qp_watch_busy(qp);
}

void qp_run(struct qp *qp)
{
	enum qp_state state;

	pthread_mutex_lock(&qp->sq_lock);
	state = atomic_load(&qp->state);
	if (state == QP_RTS || state == QP_SQD) {
		run_until_quiet(qp);
		if (state == QP_SQD)
			requester_drained(qp);
		state = atomic_load(&qp->state);
	}
	if (state == QP_SQE || state == QP_ERR) {
		ring_tell(qp->sq, SHIM_RING_POLLED, qp->is_watched);
		requester_flush(qp);
	}
	pthread_mutex_unlock(&qp->sq_lock);
	if (state != QP_ERR)
		return;
	pthread_mutex_lock(&qp->rq_lock);
	flush_receives(qp);
	pthread_mutex_unlock(&qp->rq_lock);
}

/* ---- MODIFY_QP ---- */

static int check_values(const struct qp *qp,
			const struct ib_uverbs_modify_qp *m)
{
	uint32_t mask = m->attr_mask;

	if (((mask & ATTR_PKEY_INDEX) && m->pkey_index) ||
	    ((mask & ATTR_PORT) && m->port_num != 1) ||
	    ((mask & ATTR_CUR_STATE) &&
	     m->cur_qp_state != atomic_load(&qp->state)) ||
	    ((mask & ATTR_PATH_MTU) &&
	     (!mtu_bytes(m->path_mtu) ||
	      m->path_mtu > device_mtu(qp->o.client->device))) ||
	    ((mask & ATTR_TIMEOUT) && m->timeout > 31) ||
	    ((mask & ATTR_RETRY_CNT) && m->retry_cnt > 7) ||
	    ((mask & ATTR_RNR_RETRY) && m->rnr_retry > 7) ||
	    ((mask & ATTR_MIN_RNR_TIMER) && m->min_rnr_timer > 31) ||
	    ((mask & ATTR_MAX_DEST_RD_ATOMIC) &&
	     m->max_dest_rd_atomic > MAX_RD_ATOM))
		return -EINVAL;
	return 0;
}

static void take_values(struct qp_attr *a, const struct ib_uverbs_modify_qp *m)
{
	uint32_t mask = m->attr_mask;

	if (mask & ATTR_ACCESS_FLAGS)
		a->access = m->qp_access_flags;
	if (mask & ATTR_QKEY)
		a->qkey = m->qkey;
	if (mask & ATTR_PATH_MTU)
		a->path_mtu = m->path_mtu;
	if (mask & ATTR_TIMEOUT)
		a->timeout = m->timeout;
	if (mask & ATTR_RETRY_CNT)
		a->retry_count = m->retry_cnt;
	if (mask & ATTR_RNR_RETRY)
		a->rnr_retry = m->rnr_retry;
	if (mask & ATTR_RQ_PSN)
		a->rq_psn = m->rq_psn & PSN_MASK;
	if (mask & ATTR_SQ_PSN)
		a->sq_psn = m->sq_psn & PSN_MASK;
	if (mask & ATTR_DEST_QPN)
		a->dest_qpn = m->dest_qp_num & 0xffffff;
	if (mask & ATTR_MIN_RNR_TIMER)
		a->min_rnr_timer = m->min_rnr_timer;
	if (mask & ATTR_MAX_QP_RD_ATOMIC)
		a->max_rd_atomic = m->max_rd_atomic;
	if (mask & ATTR_MAX_DEST_RD_ATOMIC)
		a->max_dest_rd_atomic = m->max_dest_rd_atomic;
	if (mask & ATTR_EN_SQD_ASYNC_NOTIFY)
		a->sqd_notify = m->en_sqd_async_notify;
}

/* A request sent too early waits for its time-out: spare it the wait. */
static void wake_local_peer(struct qp *qp)
{
	struct qp *peer = qp_find(qp->attr.dest_qpn);

	if (qp->is_local && peer && peer->is_local &&
	    peer->attr.dest_qpn == qp->qpn) {
		peer->req.wait = WAIT_NOTHING;
		work_post(&peer->work);
	}
}

static void enter(struct qp *qp, enum qp_state to)
{
	enum qp_state from = atomic_load(&qp->state);

	switch (to) {
	case QP_RESET:
		requester_reset(qp);
		responder_reset(qp);
		ring_clear_consumer(qp->sq);
		if (qp->rq)
			ring_clear_consumer(qp->rq);
		memset(&qp->attr, 0, sizeof(qp->attr));
		break;
	case QP_RTR:
		responder_reset(qp);
		qp->resp.psn = qp->attr.rq_psn;
		break;
	case QP_RTS:
		if (from == QP_RTR)
			requester_start(qp);
		break;
	case QP_ERR:
		if (from == QP_RTR || from == QP_RTS || from == QP_SQD)
			qp_echo_goodbye(qp);
		break;
	case QP_INIT:
	case QP_SQD:
	case QP_SQE:
		break;
	}
	qp->req.has_drained = false;
	atomic_store(&qp->state, to);
	ring_tell(qp->sq, SHIM_RING_STATE, to);
	work_post(&qp->work);
	if (to == QP_RTR || to == QP_RTS)
		wake_local_peer(qp);
}

int qp_modify(struct qp *qp, const struct ib_uverbs_modify_qp *m)
{
	enum qp_state from = atomic_load(&qp->state);
	enum qp_state to = from;
	struct address address;
	int rc;

	if (m->attr_mask & ATTR_STATE) {
		if (m->qp_state > QP_ERR)
			return -EINVAL;
		to = (enum qp_state)m->qp_state;
	}
	rc = qp_attr_check(qp->type, from, to, m->attr_mask);
	if (rc == 0)
		rc = check_values(qp, m);
	if (rc == 0 && (m->attr_mask & ATTR_AV))
		rc =
		    address_from_dest(qp->o.client->device, &m->dest, &address);
	if (rc < 0)
		return rc;
	take_values(&qp->attr, m);
	if (m->attr_mask & ATTR_AV) {
		qp->attr.address = address;
		qp->attr.raw = m->dest;
		qp->is_local = device_by_gid(address.dgid, NULL) != NULL;
	}
	if (m->attr_mask & ATTR_STATE)
		enter(qp, to);
	return 0;
}
