/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_order: the member that became ready first is reported first. */
#include "smc_r/epoll/epoll_order.h"

#include "smc_r/os/process.h"

void epoll_order_join(struct epoll_member *m)
{
	ENGINE_LOCKED();
	if (atomic_load(&m->epoll->count) > 1)
		atomic_store(&m->connection->own_wait->ordered, 1);
}

void epoll_order_begin(struct epoll *e)
{
	struct epoll_member *_Atomic *table = atomic_load(&e->members);
	uint32_t n = atomic_load(&e->count);

	ENGINE_LOCKED();
	for (uint32_t i = 0; i < n; i++) {
		struct epoll_member *m = atomic_load(&table[i]);

		if (m->attached)
			epoll_order_join(m);
	}
}

/* What was there when it was registered is news from then on. */
static uint64_t ready_since(const struct epoll_member *m)
{
	const struct connection *c = m->connection;
	uint64_t since = 0;

	if (m->attached)
		since = relaxed_load(&c->in_producer->since);
	return since > m->added ? since : m->added;
}

uint64_t epoll_order_newest(struct epoll_member *const *found, int n)
{
	uint64_t newest = 0;

	for (int i = 0; i < n; i++) {
		uint64_t since = ready_since(found[i]);

		newest = since > newest ? since : newest;
	}
	return newest;
}

uint32_t epoll_order_until(struct epoll_member *const *found, int n,
			   uint64_t ticks)
{
	uint32_t early = 0;

	for (int i = 0; i < n; i++)
		early += ready_since(found[i]) <= ticks;
	return early;
}

bool epoll_order_is_missed(const struct epoll_member *m, uint64_t newest,
			   struct epoll_member *const *found, int n)
{
	const struct connection *c = m->connection;

	if (!m->attached)
		return false;
	if (atomic_load_explicit(&c->in_producer->cursor,
				 memory_order_acquire) ==
		relaxed_load(&c->slot->rx.position) &&
	    !atomic_load_explicit(&c->in_producer->flags, memory_order_acquire))
		return false;
	/* This is read after the cursor: bytes that are seen have said since
	 * when. */
	if (relaxed_load(&c->in_producer->since) > newest)
		return false;
	for (int i = 0; i < n; i++)
		if (found[i] == m)
			return false;
	return true;
}

/* Nearly always they are few, and in order but for one. */
void epoll_order_sort(struct epoll_member *const *found,
		      struct epoll_event *events, int n)
{
	uint64_t since[EPOLL_ORDER_MAX];

	for (int i = 0; i < n; i++) {
		struct epoll_event event = events[i];
		uint64_t key = ready_since(found[i]);
		int at = i;

		for (; at > 0 && since[at - 1] > key; at--) {
			since[at] = since[at - 1];
			events[at] = events[at - 1];
		}
		since[at] = key;
		events[at] = event;
	}
}
