/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * key: the keys of regions and windows, which come from one table.
 *
 * Locking: core_lock; adding and removing with it held for writing.
 */
#ifndef OFED_CORE_KEY_H
#define OFED_CORE_KEY_H

#include "ofed_core/verbs/verbs.h"

/* *key is the new one; -errno when the table or the user's share is full. */
int key_add(struct client *c, struct object *o, uint32_t *key);
void key_remove(struct client *c, uint32_t key);
/*
 * What the table's part of the key names, or NULL; the caller compares the
 * rest.
 */
struct object *key_find(uint32_t key);

#endif
