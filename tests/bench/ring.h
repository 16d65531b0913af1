/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ring: a bare byte ring in shared memory, the yardstick of same-host speed.
 *
 * One writer, one reader, nothing else: no handshake, no descriptor, no
 * close rules. What a socket layer on shared memory costs is what it takes
 * beyond this.
 *
 * Ownership: the creator of the mapping owns a ring; ends only point to it.
 * Locking:   one writer process and one reader process, a thread each.
 */
#ifndef TESTS_BENCH_RING_H
#define TESTS_BENCH_RING_H

#include <stddef.h>
#include <stdint.h>

/* What an end does when there is no data, or no room. */
enum ring_waiting {
	RING_SPIN,     /* polls without end */
	RING_ADAPTIVE, /* polls RING_POLLS times, then sleeps on a futex */
	RING_FUTEX,    /* sleeps on a futex at once */
};

#define RING_POLLS 2000

struct ring;

struct ring_end {
	struct ring *ring;
	enum ring_waiting waiting;
	size_t piece;   /* bytes copied before they are published */
	uint64_t own;   /* cursor of this end */
	uint64_t other; /* cursor of the other end, as last seen */
};

/* Bytes of memory that a ring of `size` bytes takes. */
size_t ring_footprint(size_t size);

/* `memory` is shared and zeroed; `size` is a power of two. */
struct ring *ring_init(void *memory, size_t size);

/* piece 0: as much as there is room for. */
void ring_attach(struct ring_end *e, struct ring *r, enum ring_waiting waiting,
		 size_t piece);

/* Writes all of it. */
void ring_write(struct ring_end *e, const void *bytes, size_t len);

/* Returns 1 .. len bytes, or 0 when the writer has closed. */
size_t ring_read(struct ring_end *e, void *bytes, size_t len);

/* No more bytes will be written. */
void ring_close(struct ring_end *e);

#endif
