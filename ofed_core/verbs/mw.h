/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mw: memory windows: rights to parts of regions that a program gives and
 * takes back through its send queue (InfiniBand 10.6.7).
 *
 * Type 1 belongs to a protection domain, type 2 (2B) to the queue pair that
 * bound it.
 *
 * Locking: a bind changes what mw.c guards by a lock of its own. The rest as
 *          all objects.
 */
#ifndef OFED_CORE_MW_H
#define OFED_CORE_MW_H

#include "ofed_core/verbs/verbs.h"

int mw_create(struct pd *pd, bool is_type_2, struct mw **out);
/* -EINVAL. sq_lock of the pair is held. */
int mw_bind(struct qp *qp, const struct mw_bind *b);
/* Ends a window of type 2 that the pair may use; under one of its locks. */
int mw_invalidate(struct qp *qp, uint32_t rkey);
/* What a peer addresses by a key; access is one of ACCESS_REMOTE_*. */
struct remote_range {
	uint64_t address;
	uint64_t length;
	uint32_t access;
	const struct mr *mr; /* out: where it lies */
};
/* Fills in the region; -EACCES unless the key lets the pair reach it. */
int mw_resolve(const struct mw *mw, const struct qp *qp, uint32_t key,
	       struct remote_range *range);
/* Unbinds the windows that a pair has bound, which is going to end. */
void mw_forget(const struct qp *qp);

#endif
