/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cursor: positions in a ring, as both ends of a connection count them, and
 * when the reader has to tell the writer about its own (RFC 7609; the formula
 * is the one of Linux).
 *
 * A ring has size bytes, 1 .. 2^31. A cursor names a byte in it and how often
 * the ring was gone through; all bytes of the ring may be used. The producer
 * cursor is where the next byte is written, the consumer cursor where the
 * next byte is read. Equal cursors are an empty ring, equal counts in
 * neighbouring turns a full one.
 *
 * The peer's cursors come from the peer: cursor_distance() says whether one
 * can be, and nothing else here may be called with one that cannot.
 *
 * Locking: none; all are values.
 */
#ifndef SMC_R_CURSOR_H
#define SMC_R_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

struct cursor {
	uint16_t wrap;  /* full turns, modulo 2^16 */
	uint32_t count; /* offset in the ring in bytes, below its size */
};

/* The cursor bytes further on; bytes is at most size. */
struct cursor cursor_advance(struct cursor c, uint32_t bytes, uint32_t size);

/*
 * Bytes from old to new, 0 .. size. -EPROTO when new is not a position in the
 * ring, or not within one turn ahead of old: such a cursor is not to be used.
 * old must be a position in the ring.
 */
int64_t cursor_distance(struct cursor old, struct cursor new, uint32_t size);

bool cursor_is_equal(struct cursor a, struct cursor b);

/* What the reader knows when it decides about a cursor update. */
struct cursor_window {
	uint32_t size;       /* of the ring that is read */
	uint32_t consumed;   /* bytes read since the writer was last told */
	uint32_t known_free; /* room that the writer sees: see cursor_room() */
	bool requested;      /* the writer asked for an update */
	bool blocked;        /* the writer has more data than room */
	bool urgent;         /* the urgent byte has just been read */
	bool empty;          /* nothing is left to read */
};

/*
 * Room in the ring for a writer that knows this consumer cursor, in bytes.
 * The cursors must be a possible pair.
 */
uint32_t cursor_room(struct cursor consumer, struct cursor producer,
		     uint32_t size);

/*
 * Is a message due that does nothing but tell the consumer cursor? When the
 * writer asked, and when it pays: a good part of the ring was read, and the
 * writer has little room left or waits for some. Beyond Linux, also whenever
 * a writer that waits has nothing left for us to read.
 */
bool cursor_update_is_due(const struct cursor_window *w);

#endif
