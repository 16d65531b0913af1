/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * local: requests whose peer is a queue pair of this core.
 */
#ifndef OFED_CORE_LOCAL_H
#define OFED_CORE_LOCAL_H

#include "ofed_core/verbs/qp.h"

/* Executes what the program has posted. sq_lock is held. */
void local_run(struct qp *qp);

#endif
