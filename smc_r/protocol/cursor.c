/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cursor: positions in a ring, and when the reader tells the writer its own.
 */
#include "smc_r/protocol/cursor.h"

#include <errno.h>

/*
 * Less than this is not worth a message, and neither is less than a tenth of
 * the ring. Linux takes half of its smallest send buffer.
 */
#define UPDATE_BYTES_MIN 2304

struct cursor cursor_advance(struct cursor c, uint32_t bytes, uint32_t size)
{
	uint64_t count = (uint64_t)c.count + bytes;

	if (count >= size) {
		count -= size;
		c.wrap++;
	}
	c.count = (uint32_t)count;
	return c;
}

int64_t cursor_distance(struct cursor old, struct cursor new, uint32_t size)
{
	uint16_t turns = (uint16_t)(new.wrap - old.wrap);
	int64_t distance = (int64_t) new.count - old.count;

	if (new.count >= size || turns > 1)
		return -EPROTO;
	if (turns == 1)
		distance += size;
	if (distance < 0 || distance > size)
		return -EPROTO;
	return distance;
}

bool cursor_is_equal(struct cursor a, struct cursor b)
{
	return a.wrap == b.wrap && a.count == b.count;
}

uint32_t cursor_room(struct cursor consumer, struct cursor producer,
		     uint32_t size)
{
	int64_t used = cursor_distance(consumer, producer, size);

	return used < 0 ? 0 : size - (uint32_t)used;
}

bool cursor_update_is_due(const struct cursor_window *w)
{
	uint32_t least = w->size / 10;

	if (least < UPDATE_BYTES_MIN)
		least = UPDATE_BYTES_MIN;
	if (w->requested || w->urgent)
		return true;
	if (w->blocked && w->empty && w->consumed > 0)
		return true;
	return w->consumed > least &&
	       (w->known_free <= w->size / 2 || w->blocked);
}
