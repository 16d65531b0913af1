/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * srq: shared receive queues, and receives in any ring.
 */
#ifndef OFED_CORE_SRQ_H
#define OFED_CORE_SRQ_H

#include "ofed_core/verbs/verbs.h"

int srq_create(struct pd *pd, uint32_t max_wr, uint32_t max_sge,
	       struct srq **out);
/* A larger or smaller ring; what waits moves over, in order. */
int srq_resize(struct srq *srq, uint32_t max_wr);
/* Takes the next receive; -EAGAIN when there is none. */
int srq_take(struct srq *srq, struct recv_wqe *out);

/* Room for a receive in a ring. */
uint32_t recv_wqe_bytes(uint32_t max_sge);
/* Copies a receive element out of a ring, with its geometry checked. */
int recv_wqe_copy(struct recv_wqe *out, const struct ring *r, uint32_t max_sge);

#endif
