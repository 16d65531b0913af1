/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_table: the numbers of queue pairs, and what ends one.
 */
#include "ofed_core/verbs/qp_table.h"

#include <errno.h>
#include <sys/random.h>

#include "ofed_core/base/log.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/cq.h"

#define SLOT_BITS 14 /* the rest of a number tells generations apart */
#define SLOT_MASK ((1u << SLOT_BITS) - 1)

_Static_assert(MAX_QP == 1 << SLOT_BITS, "a slot fits the number");

static struct table qps = {.max = MAX_QP};
static uint32_t generation;

int qps_init(void)
{
	if (getrandom(&generation, sizeof(generation), 0) < 0)
		return -errno;
	return 0;
}

unsigned qp_total(void)
{
	return qps.used;
}

struct qp *qp_find(uint32_t qpn)
{
	struct qp *qp = table_get(&qps, qpn & SLOT_MASK);

	return qp && qp->qpn == qpn ? qp : NULL;
}

int qp_register(struct qp *qp)
{
	int64_t slot = quota_add(qp->o.client->quota, QUOTA_PAIRS, &qps, qp);

	if (slot < 0)
		return (int)slot;
	qp->slot = (uint32_t)slot;
	/*
	 * Never below 2^14, so 0, 1 and the multicast number stay free. The
	 * thread that serves the client also gets the packets.
	 */
	do {
		generation = generation % 500 + 1;
		qp->qpn = generation << SLOT_BITS | qp->slot;
	} while (qpn_worker(qp->qpn) != qp->o.client->worker);
	return 0;
}

void qp_unregister(struct qp *qp)
{
	quota_remove(qp->o.client->quota, QUOTA_PAIRS, &qps, qp->slot);
}

void qp_complete(struct qp *qp, struct cq *cq, struct ib_uverbs_wc *wc,
		 bool is_solicited)
{
	wc->qp_num = qp->qpn;
	wc->port_num = 1;
	if (!cq_push(cq, wc, is_solicited) &&
	    atomic_load(&qp->state) != QP_ERR) {
		log_warning("completion queue of pid %d is full",
			    (int)qp->o.client->pid);
		qp_set_error(qp);
	}
}

void qp_set_error(struct qp *qp)
{
	atomic_store(&qp->state, QP_ERR);
	work_post(&qp->work);
}
