/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * table: numbers for pointers, as handles, keys and queue pair numbers need.
 *
 * Numbers are reused late: the search for a free one goes round.
 * Locking: the caller's.
 */
#ifndef OFED_CORE_TABLE_H
#define OFED_CORE_TABLE_H

#include <stdint.h>

struct table {
	void **slots;
	uint32_t room;
	uint32_t used;
	uint32_t next; /* where the search for a free slot starts */
	uint32_t max;
};

void table_init(struct table *t, uint32_t max);
void table_fini(struct table *t);

/* The new number, -ENOMEM, or -ENOSPC when max entries are in use. */
int64_t table_add(struct table *t, void *entry);
void table_remove(struct table *t, uint32_t number);
/* NULL for a number not in use. */
void *table_get(const struct table *t, uint32_t number);

#endif
