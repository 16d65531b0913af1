/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_qp: the commands that make, show, change and destroy queue pairs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/qp/qp_state.h"
#include "ofed_core/rc/requester.h"
#include "ofed_core/ud/mcast.h"
#include "ofed_core/uverbs/uverbs.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/srq.h"

static uint32_t send_element(uint32_t max_sge, uint32_t max_inline)
{
	uint32_t sges = max_sge * (uint32_t)sizeof(struct rxe_sge);

	return (uint32_t)sizeof(struct rxe_send_wqe) +
	       (sges > max_inline ? sges : max_inline);
}

static int check(const struct ib_uverbs_ex_create_qp *q)
{
	if (q->qp_type != QP_RC && q->qp_type != QP_UC && q->qp_type != QP_UD)
		return -EOPNOTSUPP;
	if (q->comp_mask || q->create_flags || q->source_qpn)
		return -EOPNOTSUPP;
	if (q->max_send_wr > MAX_QP_WR || q->max_recv_wr > MAX_QP_WR ||
	    q->max_send_sge > MAX_SGE || q->max_recv_sge > MAX_SGE ||
	    q->max_inline_data > MAX_INLINE)
		return -EINVAL;
	return 0;
}

static int find_parts(struct command *c, const struct ib_uverbs_ex_create_qp *q,
		      struct qp *qp)
{
	qp->pd = object_find(c->client, q->pd_handle, OBJECT_PD);
	qp->send_cq = object_find(c->client, q->send_cq_handle, OBJECT_CQ);
	qp->recv_cq = object_find(c->client, q->recv_cq_handle, OBJECT_CQ);
	if (q->is_srq)
		qp->srq = object_find(c->client, q->srq_handle, OBJECT_SRQ);
	if (!qp->pd || !qp->send_cq || !qp->recv_cq || (q->is_srq && !qp->srq))
		return -EINVAL;
	return 0;
}

/*
 * The smallest queue has these, as completion queues do (cq.c): a program that
 * fills one of those posts as much, and the core may not have looked yet.
 */
#define SENDS_MIN 15

static int make_queues(struct command *c,
		       const struct ib_uverbs_ex_create_qp *q, struct qp *qp)
{
	uint32_t sges = q->max_send_sge ? q->max_send_sge : 1;

	qp->max_inline =
	    q->max_inline_data > sges * 16 ? q->max_inline_data : sges * 16;
	qp->max_send_sge = sges;
	qp->max_recv_sge = q->max_recv_sge ? q->max_recv_sge : 1;
	qp->sq = object_ring(
	    c->client, q->max_send_wr > SENDS_MIN ? q->max_send_wr : SENDS_MIN,
	    send_element(sges, qp->max_inline));
	if (!qp->sq)
		return -ENOMEM;
	qp->max_send_wr = ring_capacity(qp->sq);
	qp->req.slots = qp->sq->mask + 1;
	if (quota_take(c->client->quota, QUOTA_BYTES, wqe_bytes(qp)) < 0)
		return -ENOMEM;
	qp->req.wqes = calloc(qp->req.slots, sizeof(struct wqe));
	if (!qp->req.wqes) {
		quota_give(c->client->quota, QUOTA_BYTES, wqe_bytes(qp));
		return -ENOMEM;
	}
	if (qp->srq)
		return 0;
	qp->rq = object_ring(c->client, q->max_recv_wr ? q->max_recv_wr : 1,
			     recv_wqe_bytes(qp->max_recv_sge));
	if (!qp->rq)
		return -ENOMEM;
	qp->max_recv_wr = ring_capacity(qp->rq);
	return 0;
}

static int create(struct command *c, const struct ib_uverbs_ex_create_qp *q,
		  struct qp **out)
{
	struct qp *qp;
	int rc = check(q);

	if (rc < 0)
		return rc;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->type = (enum qp_type)q->qp_type;
	qp->sig_all = q->sq_sig_all;
	qp->o.user_handle = q->user_handle;
	rc = find_parts(c, q, qp);
	if (rc == 0)
		rc = make_queues(c, q, qp);
	if (rc == 0)
		rc = object_add(c->client, &qp->o, OBJECT_QP, qp_destroy);
	if (rc < 0)
		goto fail;
	rc = qp_open(qp);
	if (rc < 0) {
		object_remove(&qp->o);
		goto fail;
	}
	pthread_mutex_init(&qp->sq_lock, NULL);
	pthread_mutex_init(&qp->rq_lock, NULL);
	object_hold(&qp->pd->o);
	object_hold(&qp->send_cq->o);
	object_hold(&qp->recv_cq->o);
	if (qp->srq)
		object_hold(&qp->srq->o);
	*out = qp;
	return 0;
fail:
	object_ring_drop(c->client, qp->sq);
	object_ring_drop(c->client, qp->rq);
	if (qp->req.wqes)
		quota_give(c->client->quota, QUOTA_BYTES, wqe_bytes(qp));
	free(qp->req.wqes);
	free(qp);
	return rc;
}

static void describe(const struct qp *qp, struct ib_uverbs_create_qp_resp *r,
		     struct rxe_create_qp_resp *driver)
{
	r->qp_handle = qp->o.handle;
	r->qpn = qp->qpn;
	r->max_send_wr = qp->max_send_wr;
	r->max_recv_wr = qp->max_recv_wr;
	r->max_send_sge = qp->max_send_sge;
	r->max_recv_sge = qp->max_recv_sge;
	r->max_inline_data = qp->max_inline;
	driver->sq_mi = ring_info(qp->sq);
	if (qp->rq)
		driver->rq_mi = ring_info(qp->rq);
}

int uverbs_create_qp(struct command *c)
{
	struct ib_uverbs_create_qp q;
	struct ib_uverbs_ex_create_qp ex = {0};
	struct ib_uverbs_create_qp_resp r = {0};
	struct rxe_create_qp_resp driver = {0};
	struct qp *qp;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	/* The extended request has the same fields, one place earlier. */
	memcpy(&ex, &q.user_handle,
	       offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
	rc = create(c, &ex, &qp);
	if (rc < 0)
		return rc;
	describe(qp, &r, &driver);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_ex_create_qp(struct command *c)
{
	struct ib_uverbs_ex_create_qp ex = {0};
	struct ib_uverbs_ex_create_qp_resp r = {0};
	struct rxe_create_qp_resp driver = {0};
	struct qp *qp;
	int rc;

	memcpy(&ex, c->in, c->in_bytes < sizeof(ex) ? c->in_bytes : sizeof(ex));
	rc = create(c, &ex, &qp);
	if (rc < 0)
		return rc;
	describe(qp, &r.base, &driver);
	r.response_length = sizeof(r);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_query_qp(struct command *c)
{
	struct ib_uverbs_query_qp q;
	struct ib_uverbs_query_qp_resp r = {0};
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = object_find(c->client, q.qp_handle, OBJECT_QP);
	if (!qp)
		return -EINVAL;
	r.dest = qp->attr.raw;
	r.max_send_wr = qp->max_send_wr;
	r.max_recv_wr = qp->max_recv_wr;
	r.max_send_sge = qp->max_send_sge;
	r.max_recv_sge = qp->max_recv_sge;
	r.max_inline_data = qp->max_inline;
	r.qkey = qp->attr.qkey;
	r.rq_psn = qp->attr.rq_psn;
	r.sq_psn = qp->attr.sq_psn;
	r.dest_qp_num = qp->attr.dest_qpn;
	r.qp_access_flags = qp->attr.access;
	r.qp_state = (uint8_t)atomic_load(&qp->state);
	r.cur_qp_state = r.qp_state;
	r.path_mtu = qp->attr.path_mtu;
	r.sq_draining = r.qp_state == QP_SQD && qp->req.wait != WAIT_NOTHING;
	r.max_rd_atomic = qp->attr.max_rd_atomic;
	r.max_dest_rd_atomic = qp->attr.max_dest_rd_atomic;
	r.min_rnr_timer = qp->attr.min_rnr_timer;
	r.port_num = 1;
	r.timeout = qp->attr.timeout;
	r.retry_cnt = qp->attr.retry_count;
	r.rnr_retry = qp->attr.rnr_retry;
	r.sq_sig_all = qp->sig_all;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

static int modify(struct command *c)
{
	struct ib_uverbs_modify_qp q;
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = object_find(c->client, q.qp_handle, OBJECT_QP);
	return qp ? qp_modify(qp, &q) : -EINVAL;
}

int uverbs_modify_qp(struct command *c)
{
	return modify(c);
}

int uverbs_ex_modify_qp(struct command *c)
{
	struct ib_uverbs_ex_modify_qp_resp r = {.response_length = sizeof(r)};
	int rc = modify(c);

	if (rc < 0 || c->out_max < sizeof(r))
		return rc;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_destroy_qp(struct command *c)
{
	struct ib_uverbs_destroy_qp q;
	struct ib_uverbs_destroy_qp_resp r = {0};
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = object_find(c->client, q.qp_handle, OBJECT_QP);
	if (!qp)
		return -EINVAL;
	if (qp->mcast_count)
		return -EBUSY;
	r.events_reported = event_reported(&qp->o);
	object_destroy(&qp->o);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

static struct qp *find_datagram_qp(struct command *c, uint32_t handle)
{
	struct qp *qp = object_find(c->client, handle, OBJECT_QP);

	return qp && qp->type == QP_UD ? qp : NULL;
}

int uverbs_attach_mcast(struct command *c)
{
	struct ib_uverbs_attach_mcast q;
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = find_datagram_qp(c, q.qp_handle);
	if (!qp || !gid_is_multicast(q.gid))
		return -EINVAL;
	return mcast_attach(qp, q.gid);
}

int uverbs_detach_mcast(struct command *c)
{
	struct ib_uverbs_detach_mcast q;
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = find_datagram_qp(c, q.qp_handle);
	return qp ? mcast_detach(qp, q.gid) : -EINVAL;
}
