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

/* The answer has the same fields in either form; base is where they begin. */
static int answer(struct command *c, const struct qp *qp,
		  struct ib_uverbs_create_qp_resp *base, const void *answer,
		  size_t answer_bytes)
{
	struct rxe_create_qp_resp driver = {.sq_mi = ring_info(qp->sq)};

	base->qp_handle = qp->o.handle;
	base->qpn = qp->qpn;
	base->max_send_wr = qp->max_send_wr;
	base->max_recv_wr = qp->max_recv_wr;
	base->max_send_sge = qp->max_send_sge;
	base->max_recv_sge = qp->max_recv_sge;
	base->max_inline_data = qp->max_inline;
	if (qp->rq)
		driver.rq_mi = ring_info(qp->rq);
	return command_answer(c, answer, answer_bytes, &driver, sizeof(driver));
}

int uverbs_create_qp(struct command *c)
{
	const struct ib_uverbs_create_qp *q = c->in;
	struct ib_uverbs_ex_create_qp ex = {0};
	struct ib_uverbs_create_qp_resp r = {0};
	struct qp *qp;
	int rc;

	/* The extended request has the same fields, one place earlier. */
	memcpy(&ex, &q->user_handle,
	       offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
	rc = create(c, &ex, &qp);
	return rc < 0 ? rc : answer(c, qp, &r, &r, sizeof(r));
}

int uverbs_ex_create_qp(struct command *c)
{
	struct ib_uverbs_ex_create_qp ex = {0};
	struct ib_uverbs_ex_create_qp_resp r = {.response_length = sizeof(r)};
	struct qp *qp;
	int rc;

	memcpy(&ex, c->in, c->in_bytes < sizeof(ex) ? c->in_bytes : sizeof(ex));
	rc = create(c, &ex, &qp);
	return rc < 0 ? rc : answer(c, qp, &r.base, &r, sizeof(r));
}

int uverbs_query_qp(struct command *c)
{
	struct qp *qp = c->object;
	const uint8_t state = (uint8_t)atomic_load(&qp->state);
	struct ib_uverbs_query_qp_resp r = {
	    .dest = qp->attr.raw,
	    .max_send_wr = qp->max_send_wr,
	    .max_recv_wr = qp->max_recv_wr,
	    .max_send_sge = qp->max_send_sge,
	    .max_recv_sge = qp->max_recv_sge,
	    .max_inline_data = qp->max_inline,
	    .qkey = qp->attr.qkey,
	    .rq_psn = qp->attr.rq_psn,
	    .sq_psn = qp->attr.sq_psn,
	    .dest_qp_num = qp->attr.dest_qpn,
	    .qp_access_flags = qp->attr.access,
	    .qp_state = state,
	    .cur_qp_state = state,
	    .path_mtu = qp->attr.path_mtu,
	    .sq_draining = state == QP_SQD && qp->req.wait != WAIT_NOTHING,
	    .max_rd_atomic = qp->attr.max_rd_atomic,
	    .max_dest_rd_atomic = qp->attr.max_dest_rd_atomic,
	    .min_rnr_timer = qp->attr.min_rnr_timer,
	    .port_num = 1,
	    .timeout = qp->attr.timeout,
	    .retry_cnt = qp->attr.retry_count,
	    .rnr_retry = qp->attr.rnr_retry,
	    .sq_sig_all = qp->sig_all,
	};

	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_modify_qp(struct command *c)
{
	return qp_modify(c->object, c->in);
}

int uverbs_ex_modify_qp(struct command *c)
{
	struct ib_uverbs_ex_modify_qp_resp r = {.response_length = sizeof(r)};
	int rc = uverbs_modify_qp(c);

	if (rc < 0 || c->out_max < sizeof(r))
		return rc;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_attach_mcast(struct command *c)
{
	const struct ib_uverbs_attach_mcast *q = c->in;
	struct qp *qp = c->object;

	if (qp->type != QP_UD || !gid_is_multicast(q->gid))
		return -EINVAL;
	return mcast_attach(qp, q->gid);
}

int uverbs_detach_mcast(struct command *c)
{
	const struct ib_uverbs_detach_mcast *q = c->in;
	struct qp *qp = c->object;

	return qp->type == QP_UD ? mcast_detach(qp, q->gid) : -EINVAL;
}
