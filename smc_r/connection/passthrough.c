/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* passthrough: connections that nobody but the kernel will ever carry. */
#include "smc_r/connection/passthrough.h"

#include <sys/mman.h>

#include "smc_r/connection/connection.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

FORK_PAGE struct status_slot *_Atomic *_Atomic passthrough_table;

static _Atomic int end; /* highest number ever kept, plus one */

static struct status_slot *_Atomic *have_table(void)
{
	struct status_slot *_Atomic *table = atomic_load(&passthrough_table);
	const size_t bytes = FDTABLE_SIZE * sizeof(*table);
	void *memory;

	if (table)
		return table;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&passthrough_table, &table, memory))
		return memory;
	munmap(memory, bytes);
	return table;
}

static void raise_end(int fd)
{
	int seen = atomic_load(&end);

	while (fd >= seen && !atomic_compare_exchange_weak(&end, &seen, fd + 1))
		;
}

static struct status_slot *slot_get(void)
{
	struct status_slot *slot;

	/* In a copy that nobody noticed the segment is still our parent's. */
	process_tid();
	slot = segment_slot_begin();
	if (slot)
		return slot;
	/* There is none yet, or it has to grow. */
	engine_lock();
	slot = segment_slot_get();
	engine_unlock();
	return slot;
}

static void fill(struct status_slot *slot, const struct passthrough *p)
{
	slot->role = p->role;
	slot->local = p->local;
	slot->local_port = p->local_port;
	slot->peer = p->peer;
	slot->peer_port = p->peer_port;
	slot->reason = p->reason;
	relaxed_store(&slot->phase, PHASE_NATIVE);
	segment_slot_publish(slot, STATUS_TCP);
}

/* reason_index() searches, and they have one reason nearly always. */
static uint32_t index_of(uint32_t reason)
{
	static _Atomic uint64_t last; /* high half: reason; low half: index */
	uint64_t seen = relaxed_load(&last);

	if (seen >> 32 != reason) {
		seen = (uint64_t)reason << 32 | (uint32_t)reason_index(reason);
		relaxed_store(&last, seen);
	}
	return (uint32_t)seen;
}

void passthrough_count(uint8_t role, uint32_t reason)
{
	process_tid();
	if (role == STATUS_CLIENT)
		segment_count(client_connections);
	else
		segment_count(server_connections);
	segment_count(tcp_connections);
	segment_count(fallbacks[index_of(reason)]);
}

void passthrough_keep(int fd, const struct passthrough *p)
{
	struct status_slot *_Atomic *table = have_table();
	struct status_slot *slot;

	if (!table || (unsigned)fd >= FDTABLE_SIZE || fdtable_get(fd))
		return;
	/* Its number was closed unseen. */
	if (passthrough_is(fd))
		passthrough_drop(fd);
	slot = slot_get();
	if (!slot)
		return;
	fill(slot, p);
	passthrough_count(p->role, p->reason);
	raise_end(fd);
	atomic_store_explicit(&table[fd], slot, memory_order_release);
}

/* Nobody asks whether the others still live that have it: if they do not, it is
 * found when slots are needed. */
static void leave_slot(struct status_slot *slot)
{
	if (segment_slot_end(slot) || !segment_slot_leave_shared(slot))
		return;
	engine_lock();
	segment_slot_free(slot);
	engine_unlock();
}

/* The slot goes first: a fork in between gives the child an entry whose slot it
 * does not hold, and not a slot that nothing will ever make it leave. */
void passthrough_drop(int fd)
{
	struct status_slot *_Atomic *entry;
	struct status_slot *slot;

	if (!passthrough_is(fd) || process_may_be_foreign())
		return;
	entry = &atomic_load(&passthrough_table)[fd];
	slot = atomic_load(entry);
	if (!slot)
		return;
	leave_slot(slot);
	relaxed_store(entry, NULL);
}

void passthrough_drop_range(unsigned first, unsigned last)
{
	unsigned until = (unsigned)atomic_load(&end);

	for (unsigned fd = first; fd <= last && fd < until; fd++)
		if (passthrough_is((int)fd))
			passthrough_drop((int)fd);
}

void passthrough_share(int fd)
{
	struct connection *c = NULL;

	if (!passthrough_is(fd) || process_is_foreign())
		return;
	engine_lock();
	if (!fdtable_get(fd))
		c = connection_new_passthrough(
		    atomic_load(&passthrough_table)[fd]);
	if (c) {
		fdtable_set(fd, &c->entry);
		atomic_store(&atomic_load(&passthrough_table)[fd], NULL);
	}
	engine_unlock();
}

void passthrough_drop_all(void)
{
	int until = atomic_load(&end);

	ENGINE_LOCKED();
	for (int fd = 0; fd < until && passthrough_table; fd++) {
		struct status_slot *slot =
		    atomic_exchange(&atomic_load(&passthrough_table)[fd], NULL);

		if (slot && segment_slot_leave(slot))
			segment_slot_free(slot);
	}
}

FORK_TEXT void passthrough_leave(void)
{
	atomic_store(&passthrough_table, NULL);
}
