/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cdc_fuzz: any bytes as a CDC message, and its cursors as positions in rings
 * of several sizes.
 */
#include "smc_r/protocol/cdc_wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void check_cursors(const struct cdc_message *m, uint32_t size)
{
	struct cursor old = m->consumer;
	int64_t distance;

	old.count %= size;
	distance = cursor_distance(old, m->producer, size);
	if (distance < 0)
		return;
	must(distance <= size && m->producer.count < size);
	must(cursor_is_equal(cursor_advance(old, (uint32_t)distance, size),
			     m->producer));
	must(cursor_room(old, m->producer, size) == size - distance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cdc_message m = {0};
	struct cdc_message again = {0};
	uint8_t bytes[CDC_BYTES];

	if (cdc_decode(&m, data, size) != 0)
		return 0;
	cdc_encode(&m, bytes);
	must(cdc_decode(&again, bytes, sizeof(bytes)) == 0);
	must(m.sequence == again.sequence && m.token == again.token &&
	     cursor_is_equal(m.producer, again.producer) &&
	     cursor_is_equal(m.consumer, again.consumer) &&
	     m.producer_flags == again.producer_flags &&
	     m.state_flags == again.state_flags);
	must(!cdc_is_older(m.sequence, m.sequence));
	check_cursors(&m, 1);
	check_cursors(&m, 16384);
	check_cursors(&m, 0x80000000);
	return 0;
}
