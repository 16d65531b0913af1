/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_srq: the commands on shared receive queues.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/verbs/srq.h"

#define SRQ_MAX_WR 1u /* bits of the attribute mask */
#define SRQ_LIMIT  2u

int uverbs_create_srq(struct command *c)
{
	const struct ib_uverbs_create_srq *q = c->in;
	struct ib_uverbs_create_srq_resp r = {0};
	struct rxe_create_srq_resp driver = {0};
	struct srq *srq;
	int rc;

	if (!q->max_wr || q->max_wr > MAX_SRQ_WR || q->max_sge > MAX_SGE)
		return -EINVAL;
	rc = srq_create(c->object, q->max_wr, q->max_sge, &srq);
	if (rc < 0)
		return rc;
	srq->o.user_handle = q->user_handle;
	srq->limit = q->srq_limit;
	r.srq_handle = srq->o.handle;
	r.max_wr = srq->max_wr;
	r.max_sge = srq->max_sge;
	r.srqn = srq->o.handle + 1;
	driver.mi = ring_info(srq->ring);
	driver.srq_num = r.srqn;
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

static int resize(struct command *c, struct srq *srq, uint32_t max_wr)
{
	struct mminfo info;
	int rc = srq_resize(srq, max_wr);

	if (rc < 0)
		return rc;
	info = ring_info(srq->ring);
	/* The provider gave a pointer of its own for this (see the shim). */
	memcpy(c->out, &info, sizeof(info));
	c->out_bytes = sizeof(info);
	return 0;
}

int uverbs_modify_srq(struct command *c)
{
	const struct ib_uverbs_modify_srq *q = c->in;
	struct srq *srq = c->object;
	int rc = 0;

	if (q->attr_mask & ~(SRQ_MAX_WR | SRQ_LIMIT))
		return -EINVAL;
	if ((q->attr_mask & SRQ_LIMIT) &&
	    q->srq_limit >
		((q->attr_mask & SRQ_MAX_WR) ? q->max_wr : srq->max_wr))
		return -EINVAL;
	if (q->attr_mask & SRQ_MAX_WR)
		rc = resize(c, srq, q->max_wr);
	if (rc == 0 && (q->attr_mask & SRQ_LIMIT))
		srq->limit = q->srq_limit;
	return rc;
}

int uverbs_query_srq(struct command *c)
{
	const struct srq *srq = c->object;
	struct ib_uverbs_query_srq_resp r = {.max_wr = srq->max_wr,
					     .max_sge = srq->max_sge,
					     .srq_limit = srq->limit};

	return command_answer(c, &r, sizeof(r), NULL, 0);
}
