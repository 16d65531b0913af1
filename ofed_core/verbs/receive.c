/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * receive: what every way into a queue pair shares: receives, atomics,
 * the first sign of the peer.
 *
 * Locking: rq_lock of the pair is held.
 */
#include "ofed_core/verbs/receive.h"

#include <errno.h>

#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/verbs/remote.h"
#include "ofed_core/verbs/srq.h"

/* All atomics of the core exclude each other: ATOMIC_HCA. */
static pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;

int receive_take(struct qp *qp)
{
	struct responder *r = &qp->resp;
	int rc;

	if (r->has_recv)
		return 0;
	if (qp->srq) {
		rc = srq_take(qp->srq, &r->recv);
	} else if (!ring_waiting(qp->rq)) {
		rc = -EAGAIN;
	} else {
		rc = recv_wqe_copy(&r->recv, qp->rq, qp->max_recv_sge);
		ring_consume(qp->rq, 1);
	}
	r->has_recv = rc != -EAGAIN;
	return rc;
}

void receive_complete(struct qp *qp, struct ib_uverbs_wc *wc, bool is_solicited)
{
	wc->wr_id = qp->resp.recv.wr_id;
	qp->resp.has_recv = false;
	qp_complete(qp, qp->recv_cq, wc, is_solicited);
}

void receive_established(struct qp *qp)
{
	if (qp->resp.has_comm_est)
		return;
	qp->resp.has_comm_est = true;
	if (atomic_load(&qp->state) == QP_RTR)
		event_send(qp->o.client, &qp->o, EVENT_COMM_EST);
}

int receive_atomic(struct qp *qp, const struct atomic_request *a,
		   uint64_t *original)
{
	struct span at;
	uint64_t value = 0;
	int rc;

	if (!(qp->attr.access & ACCESS_REMOTE_ATOMIC) || (a->address & 7))
		return -EINVAL;
	if (remote_resolve(qp, a->rkey, ACCESS_REMOTE_ATOMIC, a->address, 8,
			   &at) < 0)
		return -EACCES;
	pthread_mutex_lock(&atomic_lock);
	rc = spans_read(&at, 1, 0, &value, 8);
	*original = value;
	if (rc == 0 && a->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD)
		value += a->compare_add;
	else if (rc == 0 && value == a->compare_add)
		value = a->swap;
	if (rc == 0 && value != *original)
		rc = spans_write(&at, 1, 0, &value, 8);
	pthread_mutex_unlock(&atomic_lock);
	return rc < 0 ? -EACCES : 0;
}

int receive_atomic_write(struct qp *qp, uint32_t rkey, uint64_t address,
			 uint64_t value)
{
	struct span at;
	int rc;

	if (!(qp->attr.access & ACCESS_REMOTE_WRITE) || (address & 7))
		return -EINVAL;
	if (remote_resolve(qp, rkey, ACCESS_REMOTE_WRITE, address,
			   sizeof(value), &at) < 0)
		return -EACCES;
	pthread_mutex_lock(&atomic_lock);
	rc = spans_write(&at, 1, 0, &value, sizeof(value));
	pthread_mutex_unlock(&atomic_lock);
	return rc < 0 ? -EACCES : 0;
}
