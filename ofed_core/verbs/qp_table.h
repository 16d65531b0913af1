/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_table: the numbers of queue pairs, and what ends one.
 *
 * Locking: core_lock; registering and unregistering with it held for writing.
 */
#ifndef OFED_CORE_QP_TABLE_H
#define OFED_CORE_QP_TABLE_H

#include "ofed_core/verbs/qp.h"

/* The worker whose sockets bring packets for this number. */
static inline struct worker *qpn_worker(uint32_t qpn)
{
	return worker_at(qpn >> 16);
}

int qps_init(void);
unsigned qp_total(void);
/* The pair of that number, whatever its client; NULL. */
struct qp *qp_find(uint32_t qpn);
/* Gives it a number, which its client's worker serves; -errno. */
int qp_register(struct qp *qp);
void qp_unregister(struct qp *qp);

/* Adds a completion of this pair; an overflow breaks the pair. */
void qp_complete(struct qp *qp, struct cq *cq, struct ib_uverbs_wc *wc,
		 bool is_solicited);
/* Marks the pair broken; the flush of the send queue follows as work. */
void qp_set_error(struct qp *qp);

#endif
