/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * key: the table of keys.
 */
#include "ofed_core/verbs/key.h"

#include <sys/random.h>

#include "ofed_core/verbs/client.h"

static struct table keys = {.max = MAX_MR};

int key_add(struct client *c, struct object *o, uint32_t *key)
{
	int64_t slot = quota_add(c->quota, QUOTA_KEYS, &keys, o);
	uint8_t variant;

	if (slot < 0)
		return (int)slot;
	/* Consecutive users of a slot get different keys. */
	if (getrandom(&variant, 1, GRND_NONBLOCK) < 0 || !variant)
		variant = 0x5a;
	*key = (uint32_t)slot << 8 | variant;
	return 0;
}

void key_remove(struct client *c, uint32_t key)
{
	quota_remove(c->quota, QUOTA_KEYS, &keys, key >> 8);
}

struct object *key_find(uint32_t key)
{
	return table_get(&keys, key >> 8);
}
