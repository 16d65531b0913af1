/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * remote: what a peer reaches by a key that a program gave it.
 */
#ifndef OFED_CORE_REMOTE_H
#define OFED_CORE_REMOTE_H

#include "ofed_core/verbs/mw.h"

/* The memory of a range; -EACCES. */
int remote_resolve(const struct qp *qp, uint32_t rkey,
		   struct remote_range range, struct span *out);

#endif
