/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: bounded reading and writing of fields in network byte order.
 */
#include "smc_r/protocol/wire.h"

#include <errno.h>
#include <string.h>

void wire_reader_init(struct wire_reader *r, const void *bytes, size_t n)
{
	r->at = bytes;
	r->left = n;
	r->bad = false;
}

/* The next n bytes, or NULL (and a bad reader) when there are fewer. */
static const uint8_t *take(struct wire_reader *r, size_t n)
{
	const uint8_t *p = r->at;

	if (r->bad || n > r->left) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	r->left -= n;
	return p;
}

static uint64_t read_uint(struct wire_reader *r, size_t n)
{
	const uint8_t *p = take(r, n);
	uint64_t v = 0;

	for (size_t i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

uint8_t wire_read_u8(struct wire_reader *r)
{
	return (uint8_t)read_uint(r, 1);
}

uint16_t wire_read_u16(struct wire_reader *r)
{
	return (uint16_t)read_uint(r, 2);
}

uint32_t wire_read_u24(struct wire_reader *r)
{
	return (uint32_t)read_uint(r, 3);
}

uint32_t wire_read_u32(struct wire_reader *r)
{
	return (uint32_t)read_uint(r, 4);
}

uint64_t wire_read_u64(struct wire_reader *r)
{
	return read_uint(r, 8);
}

void wire_read_bytes(struct wire_reader *r, void *out, size_t n)
{
	const uint8_t *p = take(r, n);

	if (!n)
		return;
	if (p)
		memcpy(out, p, n);
	else
		memset(out, 0, n);
}

void wire_skip(struct wire_reader *r, size_t n)
{
	take(r, n);
}

bool wire_read_done(const struct wire_reader *r)
{
	return !r->bad && r->left == 0;
}

void wire_writer_init(struct wire_writer *w, void *bytes, size_t n)
{
	w->at = bytes;
	w->left = n;
	w->used = 0;
	w->bad = false;
}

/* Room for n bytes, or NULL (and a bad writer) when there is less. */
static uint8_t *give(struct wire_writer *w, size_t n)
{
	uint8_t *p = w->at;

	if (w->bad || n > w->left) {
		w->bad = true;
		return NULL;
	}
	w->at += n;
	w->left -= n;
	w->used += n;
	return p;
}

static void write_uint(struct wire_writer *w, uint64_t v, size_t n)
{
	uint8_t *p = give(w, n);

	for (size_t i = 0; p && i < n; i++)
		p[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
}

void wire_write_u8(struct wire_writer *w, uint8_t v)
{
	write_uint(w, v, 1);
}

void wire_write_u16(struct wire_writer *w, uint16_t v)
{
	write_uint(w, v, 2);
}

void wire_write_u24(struct wire_writer *w, uint32_t v)
{
	write_uint(w, v, 3);
}

void wire_write_u32(struct wire_writer *w, uint32_t v)
{
	write_uint(w, v, 4);
}

void wire_write_u64(struct wire_writer *w, uint64_t v)
{
	write_uint(w, v, 8);
}

void wire_write_bytes(struct wire_writer *w, const void *bytes, size_t n)
{
	uint8_t *p = give(w, n);

	if (p && n)
		memcpy(p, bytes, n);
}

void wire_write_zeros(struct wire_writer *w, size_t n)
{
	uint8_t *p = give(w, n);

	if (p && n)
		memset(p, 0, n);
}

int wire_write_length(const struct wire_writer *w)
{
	return w->bad ? -ENOSPC : (int)w->used;
}
