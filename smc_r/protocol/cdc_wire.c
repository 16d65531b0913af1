/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cdc_wire: the message that follows data written into the peer's RMBE.
 */
#include "smc_r/protocol/cdc_wire.h"
#include "smc_r/protocol/wire.h"

#include <errno.h>

#define RESERVED_BYTES 18

static void write_cursor(struct wire_writer *w, struct cursor c)
{
	wire_write_zeros(w, 2);
	wire_write_u16(w, c.wrap);
	wire_write_u32(w, c.count);
}

static struct cursor read_cursor(struct wire_reader *r)
{
	struct cursor c;

	wire_skip(r, 2);
	c.wrap = wire_read_u16(r);
	c.count = wire_read_u32(r);
	return c;
}

void cdc_encode(const struct cdc_message *m, uint8_t out[CDC_BYTES])
{
	struct wire_writer w;

	wire_writer_init(&w, out, CDC_BYTES);
	wire_write_u8(&w, CDC_TYPE);
	wire_write_u8(&w, CDC_BYTES);
	wire_write_u16(&w, m->sequence);
	wire_write_u32(&w, m->token);
	write_cursor(&w, m->producer);
	write_cursor(&w, m->consumer);
	wire_write_u8(&w, m->producer_flags);
	wire_write_u8(&w, m->state_flags);
	wire_write_zeros(&w, RESERVED_BYTES);
}

int cdc_decode(struct cdc_message *out, const void *bytes, size_t n)
{
	struct wire_reader r;
	uint8_t type;
	uint8_t length;

	wire_reader_init(&r, bytes, n < CDC_BYTES ? n : CDC_BYTES);
	type = wire_read_u8(&r);
	length = wire_read_u8(&r);
	out->sequence = wire_read_u16(&r);
	out->token = wire_read_u32(&r);
	out->producer = read_cursor(&r);
	out->consumer = read_cursor(&r);
	out->producer_flags = wire_read_u8(&r);
	out->state_flags = wire_read_u8(&r);
	wire_skip(&r, RESERVED_BYTES);
	if (type != CDC_TYPE || length != CDC_BYTES || !wire_read_done(&r))
		return -EPROTO;
	return 0;
}

bool cdc_is_older(uint16_t sequence, uint16_t last)
{
	return (int16_t)(uint16_t)(sequence - last) < 0;
}
