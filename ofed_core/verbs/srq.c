/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * srq: shared receive queues: made, emptied, resized.
 */
#include "ofed_core/verbs/srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/object.h"

uint32_t recv_wqe_bytes(uint32_t max_sge)
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
	size_t n = recv_wqe_bytes(max_sge);

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

static void srq_destroy(struct object *o)
{
	struct srq *srq = (struct srq *)o;

	object_drop(&srq->pd->o);
	object_ring_drop(srq->o.client, srq->ring);
	pthread_mutex_destroy(&srq->lock);
	free(srq);
}

int srq_create(struct pd *pd, uint32_t max_wr, uint32_t max_sge,
	       struct srq **out)
{
	struct client *c = pd->o.client;
	struct srq *srq = calloc(1, sizeof(*srq));
	int rc;

	if (!srq)
		return -ENOMEM;
	srq->max_sge = max_sge ? max_sge : 1;
	srq->ring = object_ring(c, max_wr, recv_wqe_bytes(srq->max_sge));
	rc = srq->ring ? object_add(c, &srq->o, OBJECT_SRQ, srq_destroy)
		       : -ENOMEM;
	if (rc < 0) {
		object_ring_drop(c, srq->ring);
		free(srq);
		return rc;
	}
	pthread_mutex_init(&srq->lock, NULL);
	srq->pd = pd;
	object_hold(&pd->o);
	srq->max_wr = ring_capacity(srq->ring);
	*out = srq;
	return 0;
}

int srq_resize(struct srq *srq, uint32_t max_wr)
{
	struct client *c = srq->o.client;
	struct ring *old = srq->ring;
	uint32_t waiting = ring_waiting(old);
	struct ring *ring;

	if (!max_wr || max_wr > MAX_SRQ_WR || max_wr < waiting)
		return -EINVAL;
	ring = object_ring(c, max_wr, recv_wqe_bytes(srq->max_sge));
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < waiting; i++)
		memcpy(ring->shared->data + ((size_t)i << ring->shift),
		       ring_peek(old, i), ring_element(ring));
	ring->shared->producer_index = waiting;
	srq->ring = ring;
	srq->max_wr = ring_capacity(ring);
	object_ring_drop(c, old);
	return 0;
}
