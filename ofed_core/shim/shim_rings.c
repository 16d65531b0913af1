/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_rings: send and completion rings that the program has mapped.
 *
 * What stands in a ring's header saves system calls: posting in a state that
 * allows none fails here, a core that is looking needs no doorbell, and a
 * completion queue is armed by a store.
 *
 * Locking: a key is published last and withdrawn first. A thread that uses a
 *          ring counts as its user; the one that withdraws it waits for the
 *          users, because the provider unmaps it next.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <netinet/in.h>
#include <rdma/rdma_user_rxe.h>
#include <sched.h>
#include <stdatomic.h>

#define RINGS_MAX 4096 /* a power of two */
#define PROBES    32

struct entry {
	_Atomic uint64_t key; /* 0: free */
	uint64_t offset;
	struct rxe_queue_buf *_Atomic ring;
	atomic_uint users;
};

static struct entry rings[RINGS_MAX];

static uint64_t key_of(int fd, uint32_t handle)
{
	return (uint64_t)(uint32_t)fd << 33 | (uint64_t)handle << 1 | 1;
}

static struct entry *place(uint64_t key, unsigned i)
{
	uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);

	return &rings[((h >> 40) + i) & (RINGS_MAX - 1)];
}

static struct entry *find(uint64_t key)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct entry *e = place(key, i);

		if (atomic_load_explicit(&e->key, memory_order_acquire) == key)
			return e;
	}
	return NULL;
}

/* The ring with its entry in use, or NULL. */
static struct rxe_queue_buf *begin_use(int fd, uint32_t handle,
				       struct entry **out)
{
	uint64_t key = key_of(fd, handle);
	struct entry *e = find(key);
	struct rxe_queue_buf *ring = NULL;

	if (!e)
		return NULL;
	atomic_fetch_add(&e->users, 1);
	if (atomic_load(&e->key) == key)
		ring = atomic_load(&e->ring);
	if (!ring)
		atomic_fetch_sub(&e->users, 1);
	*out = e;
	return ring;
}

static void end_use(struct entry *e)
{
	atomic_fetch_sub(&e->users, 1);
}

static void withdraw(struct entry *e)
{
	atomic_store(&e->key, 0);
	/* They only load or store a word. */
	while (atomic_load(&e->users))
		sched_yield();
}

void shim_ring_add(int fd, uint32_t handle, uint64_t offset)
{
	uint64_t key = key_of(fd, handle);

	for (unsigned i = 0; i < PROBES; i++) {
		struct entry *e = place(key, i);
		uint64_t free = 0;

		/* Taken with a key nobody asks for until it is filled. */
		if (!atomic_compare_exchange_strong(&e->key, &free, UINT64_MAX))
			continue;
		e->offset = offset;
		atomic_store(&e->ring, NULL);
		atomic_store(&e->key, key);
		return;
	}
}

void shim_ring_mapped(int fd, uint64_t offset, void *ring)
{
	for (unsigned i = 0; i < RINGS_MAX; i++) {
		struct entry *e = &rings[i];
		uint64_t key = atomic_load(&e->key);

		if (key && key != UINT64_MAX && key >> 33 == (uint64_t)fd &&
		    e->offset == offset)
			atomic_store(&e->ring, ring);
	}
}

void shim_ring_remove(int fd, uint32_t handle)
{
	struct entry *e = find(key_of(fd, handle));

	if (e)
		withdraw(e);
}

void shim_ring_remove_all(int fd)
{
	for (unsigned i = 0; i < RINGS_MAX; i++) {
		uint64_t key = atomic_load(&rings[i].key);

		if (key && key != UINT64_MAX && key >> 33 == (uint64_t)fd)
			withdraw(&rings[i]);
	}
}

uint32_t shim_ring_word(int fd, uint32_t handle, unsigned word,
			uint32_t fallback)
{
	struct entry *e;
	struct rxe_queue_buf *ring = begin_use(fd, handle, &e);

	if (!ring)
		return fallback;
	/* After the program's write of the producer index. */
	atomic_thread_fence(memory_order_seq_cst);
	fallback = __atomic_load_n(&ring->pad_3[word], __ATOMIC_SEQ_CST);
	end_use(e);
	return fallback;
}

/* Completions lie in the ring, and no event told of any of them. */
static bool is_overdue(const struct rxe_queue_buf *ring)
{
	uint32_t end = __atomic_load_n(&ring->producer_index, __ATOMIC_SEQ_CST);
	uint32_t unread = (end - ring->consumer_index) & ring->index_mask;

	return unread &&
	       unread <= __atomic_load_n(&ring->pad_2[SHIM_RING_UNTOLD],
					 __ATOMIC_RELAXED);
}

bool shim_ring_arm(int fd, uint32_t handle, bool solicited_only)
{
	struct entry *e;
	struct rxe_queue_buf *ring = begin_use(fd, handle, &e);
	uint32_t none = SHIM_NOT_ARMED;
	bool is_done;

	if (!ring)
		return false;
	/* Before the program looks whether the queue is empty. */
	if (solicited_only)
		__atomic_compare_exchange_n(&ring->pad_3[SHIM_RING_ARM], &none,
					    SHIM_ARMED_SOLICITED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&ring->pad_3[SHIM_RING_ARM], SHIM_ARMED_ANY,
				 __ATOMIC_SEQ_CST);
	is_done = !is_overdue(ring);
	end_use(e);
	return is_done;
}
