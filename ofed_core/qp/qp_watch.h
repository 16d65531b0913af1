/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_watch: queue pairs that were busy lately, looked at by a worker that
 * polls: meanwhile their programs post without a system call.
 */
#ifndef OFED_CORE_QP_WATCH_H
#define OFED_CORE_QP_WATCH_H

#include "ofed_core/verbs/qp.h"

void qp_watch_init(void);
/* The pair has just sent something. */
void qp_watch_busy(const struct qp *qp);

#endif
