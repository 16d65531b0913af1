/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ring: a queue in memory shared with a program (struct rxe_queue_buf).
 *
 * The program can change every byte at any time. So the core keeps its own
 * index and geometry, masks what it reads, and copies elements before it
 * looks at them. The memory is sealed: the program cannot cut it short.
 *
 * Locking: the owner's; one user at a time on the core's side.
 */
#ifndef OFED_CORE_RING_H
#define OFED_CORE_RING_H

#include <netinet/in.h>
#include <rdma/rdma_user_rxe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct rxe_queue_buf *shared;
	size_t bytes;
	uint64_t offset;   /* that the program gives to mmap() */
	int memfd;         /* -1 once the program has mapped it */
	uint32_t mask;     /* slots - 1 */
	uint32_t shift;    /* log2 of the element size */
	uint32_t index;    /* the core's own: producer or consumer */
	struct ring *next; /* of the rings of one client */
};

/* At least `entries` usable entries of at least `element` bytes. */
int ring_create(struct ring *r, uint32_t entries, uint32_t element);
/* Accepts a ring that was never created (all zero). */
void ring_destroy(struct ring *r);

/* Slots minus the one that tells full from empty. */
static inline uint32_t ring_capacity(const struct ring *r)
{
	return r->mask;
}

static inline uint32_t ring_element(const struct ring *r)
{
	return 1u << r->shift;
}

/* Program produces: entries waiting, and access to the i-th of them. */
uint32_t ring_waiting(const struct ring *r);
const void *ring_peek(const struct ring *r, uint32_t i);
/* Publishes that n more entries are consumed. */
void ring_consume(struct ring *r, uint32_t n);

/* Core produces: false when full. */
bool ring_produce(struct ring *r, const void *entry, size_t bytes);

/* Entries that the program has not consumed. */
uint32_t ring_unread(const struct ring *r);
/* Beside the next entry that is produced: SHIM_RING_UNTOLD. */
void ring_tell_untold(struct ring *r, uint32_t count);

/* A word of the header, shared with the shim (shim_protocol.h). */
void ring_tell(struct ring *r, unsigned word, uint32_t value);
/* What the word is now, in order after everything stored before. */
uint32_t ring_asked(const struct ring *r, unsigned word);

/* Drops what waits (a queue pair that is reset). */
void ring_clear_consumer(struct ring *r);

#endif
