/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * srq: shared receive queues, and the commands on them.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SRQ_MAX_WR 1u /* bits of the attribute mask */
#define SRQ_LIMIT  2u

static uint32_t element_bytes(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct rxe_recv_wqe) +
			  max_sge * sizeof(struct rxe_sge));
}

int recv_wqe_copy(struct recv_wqe *out, const struct ring *r, uint32_t max_sge)
{
	unsigned char
	    raw[sizeof(struct rxe_recv_wqe) + MAX_SGE * sizeof(struct rxe_sge)];
	const struct rxe_sge *sge;
	struct rxe_recv_wqe w;
	size_t n = element_bytes(max_sge);

	memcpy(raw, ring_peek(r, 0), n);
	memcpy(&w, raw, sizeof(w));
	out->wr_id = w.wr_id;
	out->length = 0;
	out->sge_count = 0;
	if (w.dma.num_sge > max_sge)
		return -EINVAL;
	out->sge_count = w.dma.num_sge;
	sge = (const void *)(raw + offsetof(struct rxe_recv_wqe, dma.sge));
	for (uint32_t i = 0; i < out->sge_count; i++) {
		out->sge[i] =
		    (struct sge){sge[i].addr, sge[i].length, sge[i].lkey};
		out->length += sge[i].length;
	}
	return 0;
}

int srq_take(struct srq *srq, struct recv_wqe *out)
{
	bool is_limit = false;
	int rc = -EAGAIN;
	uint32_t waiting;

	pthread_mutex_lock(&srq->lock);
	waiting = ring_waiting(srq->ring);
	if (waiting) {
		rc = recv_wqe_copy(out, srq->ring, srq->max_sge);
		ring_consume(srq->ring, 1);
		waiting--;
		is_limit = srq->limit && waiting < srq->limit;
		if (is_limit)
			srq->limit = 0;
	}
	pthread_mutex_unlock(&srq->lock);
	if (is_limit)
		event_send(srq->o.client, &srq->o, EVENT_SRQ_LIMIT);
	return rc;
}

void srq_destroy(struct srq *srq)
{
	object_drop(&srq->pd->o);
	object_ring_drop(srq->o.client, srq->ring);
	pthread_mutex_destroy(&srq->lock);
	free(srq);
}

int uverbs_create_srq(struct command *c)
{
	struct ib_uverbs_create_srq q;
	struct ib_uverbs_create_srq_resp r = {0};
	struct rxe_create_srq_resp driver = {0};
	struct pd *pd;
	struct srq *srq;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	pd = object_find(c->client, q.pd_handle, OBJECT_PD);
	if (!pd || !q.max_wr || q.max_wr > MAX_SRQ_WR || q.max_sge > MAX_SGE)
		return -EINVAL;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->max_sge = q.max_sge ? q.max_sge : 1;
	srq->ring =
	    object_ring(c->client, q.max_wr, element_bytes(srq->max_sge));
	rc = srq->ring ? object_add(c->client, &srq->o, OBJECT_SRQ) : -ENOMEM;
	if (rc < 0) {
		object_ring_drop(c->client, srq->ring);
		free(srq);
		return rc;
	}
	pthread_mutex_init(&srq->lock, NULL);
	srq->o.user_handle = q.user_handle;
	srq->pd = pd;
	object_hold(&pd->o);
	srq->max_wr = ring_capacity(srq->ring);
	srq->limit = q.srq_limit;
	r.srq_handle = srq->o.handle;
	r.max_wr = srq->max_wr;
	r.max_sge = srq->max_sge;
	r.srqn = srq->o.handle + 1;
	driver.mi.offset = srq->ring->offset;
	driver.mi.size = (uint32_t)srq->ring->bytes;
	driver.srq_num = r.srqn;
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

/* A larger or smaller ring; what waits moves over, in order. */
static int resize(struct command *c, struct srq *srq, uint32_t max_wr)
{
	struct mminfo info = {0};
	struct ring *old = srq->ring;
	uint32_t waiting = ring_waiting(old);
	struct ring *ring;

	if (!max_wr || max_wr > MAX_SRQ_WR || max_wr < waiting)
		return -EINVAL;
	ring = object_ring(c->client, max_wr, element_bytes(srq->max_sge));
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < waiting; i++)
		memcpy(ring->shared->data + ((size_t)i << ring->shift),
		       ring_peek(old, i), ring_element(ring));
	ring->shared->producer_index = waiting;
	srq->ring = ring;
	srq->max_wr = ring_capacity(ring);
	object_ring_drop(c->client, old);
	info.offset = ring->offset;
	info.size = (uint32_t)ring->bytes;
	/* The provider gave a pointer of its own for this (see the shim). */
	memcpy(c->out, &info, sizeof(info));
	c->out_bytes = sizeof(info);
	return 0;
}

int uverbs_modify_srq(struct command *c)
{
	struct ib_uverbs_modify_srq q;
	struct srq *srq;
	int rc = 0;

	memcpy(&q, c->in, sizeof(q));
	srq = object_find(c->client, q.srq_handle, OBJECT_SRQ);
	if (!srq || (q.attr_mask & ~(SRQ_MAX_WR | SRQ_LIMIT)))
		return -EINVAL;
	if ((q.attr_mask & SRQ_LIMIT) &&
	    q.srq_limit > ((q.attr_mask & SRQ_MAX_WR) ? q.max_wr : srq->max_wr))
		return -EINVAL;
	if (q.attr_mask & SRQ_MAX_WR)
		rc = resize(c, srq, q.max_wr);
	if (rc == 0 && (q.attr_mask & SRQ_LIMIT))
		srq->limit = q.srq_limit;
	return rc;
}

int uverbs_query_srq(struct command *c)
{
	struct ib_uverbs_query_srq q;
	struct ib_uverbs_query_srq_resp r = {0};
	struct srq *srq;

	memcpy(&q, c->in, sizeof(q));
	srq = object_find(c->client, q.srq_handle, OBJECT_SRQ);
	if (!srq)
		return -EINVAL;
	r.max_wr = srq->max_wr;
	r.max_sge = srq->max_sge;
	r.srq_limit = srq->limit;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_destroy_srq(struct command *c)
{
	struct ib_uverbs_destroy_srq q;
	struct ib_uverbs_destroy_srq_resp r = {0};
	struct srq *srq;

	memcpy(&q, c->in, sizeof(q));
	srq = object_find(c->client, q.srq_handle, OBJECT_SRQ);
	if (!srq)
		return -EINVAL;
	if (atomic_load(&srq->o.refs))
		return -EBUSY;
	r.events_reported = event_reported(&srq->o);
	object_destroy(&srq->o);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}
