/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mr: memory regions.
 */
#ifndef OFED_CORE_MR_H
#define OFED_CORE_MR_H

#include "ofed_core/verbs/verbs.h"

/*
 * Registers memory of the process for the client that has the protection
 * domain. -errno.
 */
int mr_create(struct pd *pd, pid_t pid, const struct ib_uverbs_reg_mr *r,
	      struct mr **out);

/* NULL unless the key is that of a region. */
struct mr *mr_by_key(uint32_t key);

/* True when [address, +length) lies in the region. */
static inline bool mr_has(const struct mr *mr, uint64_t address,
			  uint64_t length)
{
	return address >= mr->iova && length <= mr->length &&
	       address - mr->iova <= mr->length - length;
}

/* That part of the region, which has it. */
static inline struct span mr_span(const struct mr *mr, uint64_t address,
				  uint64_t length)
{
	return (struct span){.owner = mr->owner,
			     .address = mr->start + (address - mr->iova),
			     .bytes = length};
}

/* Pieces for a list of sges; -EINVAL on a bad key, protection or range. */
int mr_resolve_local(const struct pd *pd, const struct sge *sge, unsigned count,
		     uint32_t access, struct span *out);

#endif
