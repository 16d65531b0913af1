/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: bounded reading and writing of fields in network byte order.
 *
 * A codec reads or writes all fields of a message in their order and asks
 * once, at the end, whether it stayed inside the bytes it was given. A read
 * beyond the end gives zero, a write beyond the end writes nothing, and
 * either one leaves the reader or writer bad for good.
 *
 * Ownership: the bytes belong to the caller and must outlive the reader or
 *            writer.
 * Locking:   none; nothing is shared.
 */
#ifndef SMC_R_WIRE_H
#define SMC_R_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_reader {
	const uint8_t *at; /* next byte to read */
	size_t left;       /* bytes from there to the end */
	bool bad;          /* a read went beyond the end */
};

struct wire_writer {
	uint8_t *at; /* next byte to write */
	size_t left; /* bytes from there to the end */
	size_t used; /* bytes written so far */
	bool bad;    /* a write went beyond the end */
};

void wire_reader_init(struct wire_reader *r, const void *bytes, size_t n);
uint8_t wire_read_u8(struct wire_reader *r);
uint16_t wire_read_u16(struct wire_reader *r);
uint32_t wire_read_u24(struct wire_reader *r);
uint32_t wire_read_u32(struct wire_reader *r);
uint64_t wire_read_u64(struct wire_reader *r);
/* Zero-fills out when fewer than n bytes are left. */
void wire_read_bytes(struct wire_reader *r, void *out, size_t n);
void wire_skip(struct wire_reader *r, size_t n);
/* True when no read went wrong and every byte was read. */
bool wire_read_done(const struct wire_reader *r);

void wire_writer_init(struct wire_writer *w, void *bytes, size_t n);
void wire_write_u8(struct wire_writer *w, uint8_t v);
void wire_write_u16(struct wire_writer *w, uint16_t v);
/* Writes the low 24 bits of v. */
void wire_write_u24(struct wire_writer *w, uint32_t v);
void wire_write_u32(struct wire_writer *w, uint32_t v);
void wire_write_u64(struct wire_writer *w, uint64_t v);
void wire_write_bytes(struct wire_writer *w, const void *bytes, size_t n);
/* For reserved fields, which are sent as zero. */
void wire_write_zeros(struct wire_writer *w, size_t n);
/* Bytes written, or -ENOSPC when a write went wrong. */
int wire_write_length(const struct wire_writer *w);

#endif
