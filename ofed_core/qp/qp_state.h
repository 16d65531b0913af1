/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_state: the life of queue pairs: made, run, changed, destroyed.
 */
#ifndef OFED_CORE_QP_STATE_H
#define OFED_CORE_QP_STATE_H

#include "ofed_core/verbs/qp.h"

/* What pairs of the type do. */
const struct qp_ops *qp_ops_of(enum qp_type type);
/* Gives a new pair its number, and what its type does; -errno. */
int qp_open(struct qp *qp);
/* object_add() is given this one. */
void qp_destroy(struct object *o);
/* Command side of MODIFY_QP, with core_lock held for writing. */
int qp_modify(struct qp *qp, const struct ib_uverbs_modify_qp *m);
/* Anything may have happened to the send queue: look. */
void qp_run(struct qp *qp);

#endif
