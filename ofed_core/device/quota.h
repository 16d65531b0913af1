/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * quota: what the programs of one user have of the core, and may have.
 *
 * A user may have half of each thing, so that no one of them can leave the
 * others with nothing. Root and the user of the core may have all, and of that
 * a part is theirs alone.
 *
 * Ownership: an account stays for the life of the core.
 * Locking:   none needed.
 */
#ifndef OFED_CORE_QUOTA_H
#define OFED_CORE_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "ofed_core/base/table.h"

enum quota_kind {
	QUOTA_FILES,   /* descriptors of the core */
	QUOTA_HANDLES, /* objects of any kind */
	QUOTA_PAIRS,   /* numbers of queue pairs */
	QUOTA_KEYS,    /* of memory regions and windows */
	QUOTA_IDS,     /* communication identifiers */
	QUOTA_BYTES,   /* of queues */
	QUOTA_KINDS
};

struct quota;

/* The account of a user; NULL without memory. */
struct quota *quota_of(uid_t uid);

/* -ENOMEM when it would be more than the user may have. */
int quota_take(struct quota *q, enum quota_kind kind, uint64_t n);
void quota_give(struct quota *q, enum quota_kind kind, uint64_t n);

/* table_add() and table_remove() of what counts. */
int64_t quota_add(struct quota *q, enum quota_kind kind, struct table *t,
		  void *entry);
void quota_remove(struct quota *q, enum quota_kind kind, struct table *t,
		  uint32_t number);

#endif
