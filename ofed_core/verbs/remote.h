/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * remote: what a peer reaches by a key that a program gave it.
 */
#ifndef OFED_CORE_REMOTE_H
#define OFED_CORE_REMOTE_H

#include "ofed_core/verbs/verbs.h"

/*
 * The memory that a peer addresses; access is one of ACCESS_REMOTE_*. -EACCES.
 */
int remote_resolve(const struct qp *qp, uint32_t rkey, uint32_t access,
		   uint64_t address, uint64_t length, struct span *out);

#endif
