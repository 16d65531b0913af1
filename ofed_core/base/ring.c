/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ring: a queue in memory shared with a program.
 */
#include "ofed_core/base/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ofed_core/base/shim_protocol.h"

#define HEADER_BYTES sizeof(struct rxe_queue_buf)

_Static_assert(sizeof(struct rxe_queue_buf) == 384, "shared layout");
_Static_assert(offsetof(struct rxe_queue_buf, producer_index) == 128,
	       "shared layout");
_Static_assert(offsetof(struct rxe_queue_buf, consumer_index) == 256,
	       "shared layout");

static uint32_t log2_above(uint32_t n)
{
	uint32_t shift = 0;

	while ((1u << shift) < n)
		shift++;
	return shift;
}

static _Atomic uint32_t *shared_index(uint32_t *index)
{
	return (_Atomic uint32_t *)index;
}

int ring_create(struct ring *r, uint32_t entries, uint32_t element)
{
	uint32_t slots = 1u << log2_above(entries + 1);
	int rc;

	*r = (struct ring){
	    .memfd = -1, .mask = slots - 1, .shift = log2_above(element)};
	r->bytes = HEADER_BYTES + ((size_t)slots << r->shift);
	r->bytes = (r->bytes + 4095) & ~(size_t)4095;
	r->memfd =
	    memfd_create("ofed_core-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->memfd < 0)
		return -errno;
	if (ftruncate(r->memfd, (off_t)r->bytes) < 0 ||
	    fcntl(r->memfd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto fail;
	r->shared = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 r->memfd, 0);
	if (r->shared == MAP_FAILED)
		goto fail;
	r->shared->log2_elem_size = r->shift;
	r->shared->index_mask = r->mask;
	return 0;
fail:
	rc = -errno;
	r->shared = NULL;
	ring_destroy(r);
	return rc;
}

void ring_destroy(struct ring *r)
{
	if (r->shared)
		munmap(r->shared, r->bytes);
	if (r->bytes && r->memfd >= 0)
		close(r->memfd);
	*r = (struct ring){.memfd = -1};
}

uint32_t ring_waiting(const struct ring *r)
{
	uint32_t p = atomic_load_explicit(
	    shared_index(&r->shared->producer_index), memory_order_acquire);

	return (p - r->index) & r->mask;
}

const void *ring_peek(const struct ring *r, uint32_t i)
{
	return r->shared->data +
	       ((size_t)((r->index + i) & r->mask) << r->shift);
}

void ring_consume(struct ring *r, uint32_t n)
{
	r->index = (r->index + n) & r->mask;
	atomic_store_explicit(shared_index(&r->shared->consumer_index),
			      r->index, memory_order_release);
}

bool ring_produce(struct ring *r, const void *entry, size_t bytes)
{
	uint32_t c = atomic_load_explicit(
	    shared_index(&r->shared->consumer_index), memory_order_acquire);

	if (((r->index + 1 - c) & r->mask) == 0)
		return false;
	memcpy(r->shared->data + ((size_t)r->index << r->shift), entry, bytes);
	r->index = (r->index + 1) & r->mask;
	atomic_store_explicit(shared_index(&r->shared->producer_index),
			      r->index, memory_order_release);
	return true;
}

uint32_t ring_unread(const struct ring *r)
{
	uint32_t c = atomic_load_explicit(
	    shared_index(&r->shared->consumer_index), memory_order_acquire);

	return (r->index - c) & r->mask;
}

void ring_tell_untold(struct ring *r, uint32_t count)
{
	atomic_store_explicit(shared_index(&r->shared->pad_2[SHIM_RING_UNTOLD]),
			      count, memory_order_relaxed);
}

void ring_tell(struct ring *r, unsigned word, uint32_t value)
{
	atomic_store(shared_index(&r->shared->pad_3[word]), value);
}

uint32_t ring_asked(const struct ring *r, unsigned word)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(shared_index(&r->shared->pad_3[word]));
}

void ring_clear_consumer(struct ring *r)
{
	if (r->shared)
		ring_consume(r, ring_waiting(r));
}
