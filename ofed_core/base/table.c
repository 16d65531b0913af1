/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * table: numbers for pointers.
 */
#include "ofed_core/base/table.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *t, uint32_t max)
{
	*t = (struct table){.max = max};
}

void table_fini(struct table *t)
{
	free(t->slots);
	*t = (struct table){.max = t->max};
}

static int grow(struct table *t)
{
	uint32_t room = t->room ? t->room * 2 : 16;
	void **slots;

	if (room > t->max)
		room = t->max;
	slots = realloc(t->slots, room * sizeof(void *));
	if (!slots)
		return -ENOMEM;
	memset(slots + t->room, 0, (room - t->room) * sizeof(void *));
	t->slots = slots;
	t->next = t->room;
	t->room = room;
	return 0;
}

int64_t table_add(struct table *t, void *entry)
{
	uint32_t i;

	if (t->used == t->max)
		return -ENOSPC;
	/* Half empty keeps the search short and the numbers fresh. */
	if (t->used >= t->room / 2 && t->room < t->max && grow(t) < 0 &&
	    t->used == t->room)
		return -ENOMEM;
	for (i = t->next; t->slots[i]; i = i + 1 == t->room ? 0 : i + 1)
		continue;
	t->slots[i] = entry;
	t->used++;
	t->next = i + 1 == t->room ? 0 : i + 1;
	return i;
}

void table_remove(struct table *t, uint32_t number)
{
	if (number < t->room && t->slots[number]) {
		t->slots[number] = NULL;
		t->used--;
	}
}

void *table_get(const struct table *t, uint32_t number)
{
	return number < t->room ? t->slots[number] : NULL;
}
