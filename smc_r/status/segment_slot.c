/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* segment_slot: the slots of segments, and the processes that hold them. */
#include <string.h>

#include "smc_r/os/process.h"
#include "smc_r/status/segment.h"
#include "smc_r/status/segment_table.h"
#include "smc_r/status/totals.h"

static _Atomic uint32_t next_slot;
static _Atomic uint32_t last_ended; /* the last one freed without the lock */
/* A bit for each slot of our own segment: somebody fills or frees it. */
static _Alignas(64) _Atomic uint64_t seized[STATUS_SLOTS_MAX / 64];

void segment_slots_init(void)
{
	static bool used; /* before that the bits are in no memory */

	atomic_store(&next_slot, 0);
	atomic_store(&last_ended, 0);
	for (unsigned i = 0; used && i < STATUS_SLOTS_MAX / 64; i++)
		relaxed_store(&seized[i], 0);
	used = true;
}

static struct segment *segment_of(const struct status_slot *slot)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		if (segments[i].header && slot >= segments[i].slots &&
		    slot < segments[i].slots + STATUS_SLOTS_MAX)
			return &segments[i];
	return NULL;
}

/* Nearly always it is the parent of this process, or all are gone. */
static bool has_parent(const struct segment *s, uint64_t holders)
{
	for (; holders; holders &= holders - 1) {
		const struct status_holder *h =
		    &s->header->holders[__builtin_ctzll(holders)];

		if (process_is_parent(atomic_load(&h->pid),
				      atomic_load(&h->start)))
			return true;
	}
	return false;
}

bool segment_is_held(struct segment *s, uint64_t holders)
{
	holders &= ~(1ull << s->self);
	if (holders >> UNCOUNTED || has_parent(s, holders))
		return true;
	for (; holders; holders &= holders - 1) {
		struct status_holder *h =
		    &s->header->holders[__builtin_ctzll(holders)];
		int32_t seen;

		if (totals_holder_lives(h, &seen))
			return true;
		atomic_compare_exchange_strong(&h->pid, &seen, 0);
	}
	return false;
}

/* ---- which thread has a slot of our own segment at hand ---- */

static bool seize(uint32_t i)
{
	uint64_t bit = 1ull << (i % 64);

	return !(atomic_fetch_or(&seized[i / 64], bit) & bit);
}

static void let_go(uint32_t i)
{
	atomic_fetch_and(&seized[i / 64], ~(1ull << (i % 64)));
}

/* A slot that only children held, which ended without a close. */
static bool is_left(struct segment *s, const struct status_slot *slot)
{
	uint64_t holders = atomic_load(&slot->holders);

	return atomic_load(&slot->state) != STATUS_FREE &&
	       !(holders >> s->self & 1) && !segment_is_held(s, holders);
}

static bool reclaim(struct segment *s)
{
	uint32_t n = s->slots ? atomic_load(&s->header->slot_count) : 0;
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		struct status_slot *slot = &s->slots[i];

		if (!is_left(s, slot) || !seize(i))
			continue;
		if (is_left(s, slot)) {
			segment_slot_free(slot);
			any = true;
		}
		let_go(i);
	}
	return any;
}

/* True: it is ours to fill. */
static bool seize_free(struct status_slot *slots, uint32_t i)
{
	if (atomic_load(&slots[i].state) != STATUS_FREE || !seize(i))
		return false;
	if (atomic_load(&slots[i].state) == STATUS_FREE)
		return true;
	let_go(i);
	return false;
}

static struct status_slot *find_free(struct status_header *h)
{
	struct status_slot *slots = slots_of(h);
	uint32_t n = atomic_load(&h->slot_count);
	uint32_t from = atomic_load(&next_slot);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (from + i) % n;

		if (!seize_free(slots, at))
			continue;
		atomic_store(&next_slot, at + 1);
		return &slots[at];
	}
	atomic_store(&next_slot, n);
	return NULL;
}

/* All but `state`, by which others see whether it is in use. */
static void clean(struct status_slot *slot)
{
	memset((char *)slot + sizeof(slot->state), 0,
	       sizeof(*slot) - sizeof(slot->state));
	slot->pid = process.pid;
	slot->started_ms = segment_wall_ms();
	relaxed_store(&slot->holders, 1ull << OWN_HOLDER);
}

void segment_slot_publish(struct status_slot *slot, uint32_t state)
{
	atomic_store_explicit(&slot->state, state, memory_order_release);
	let_go((uint32_t)(slot - segments[0].slots));
}

struct status_slot *segment_slot_get(void)
{
	struct segment *s = &segments[0];
	struct status_slot *slot;

	ENGINE_LOCKED();
	if (segment_open() < 0)
		return NULL;
	slot = find_free(s->header);
	if (!slot && (reclaim(s) || segment_grow(s->header)))
		slot = find_free(s->header);
	if (!slot)
		return NULL;
	clean(slot);
	segment_slot_publish(slot, STATUS_INIT);
	return slot;
}

/* Takes one slot time after time: its lines are in the cache. */
struct status_slot *segment_slot_begin(void)
{
	struct status_header *h = atomic_load(&segment_own);
	uint32_t last = atomic_load(&last_ended);
	struct status_slot *slot;

	if (!h)
		return NULL;
	if (last < atomic_load(&h->slot_count) && seize_free(slots_of(h), last))
		slot = &slots_of(h)[last];
	else
		slot = find_free(h);
	if (slot)
		clean(slot);
	return slot;
}

bool segment_slot_end(struct status_slot *slot)
{
	struct status_header *h = atomic_load(&segment_own);
	uint64_t self = 1ull << OWN_HOLDER;
	bool ended;
	uint32_t i;

	if (!h || slot < slots_of(h) || slot >= slots_of(h) + STATUS_SLOTS_MAX)
		return false;
	i = (uint32_t)(slot - slots_of(h));
	if (!seize(i))
		return false;
	ended = atomic_compare_exchange_strong(&slot->holders, &self, 0);
	if (ended) {
		atomic_store_explicit(&slot->state, STATUS_FREE,
				      memory_order_release);
		relaxed_store(&last_ended, i);
	}
	let_go(i);
	return ended;
}

bool segment_slot_is_mine(struct status_slot *slot)
{
	struct segment *s = segment_of(slot);
	uint64_t holders;
	uint64_t self;

	if (!s)
		return false;
	self = 1ull << s->self;
	holders = atomic_load(&slot->holders);
	return (holders & self) && !segment_is_held(s, holders);
}

bool segment_slot_is_over(const struct status_slot *slot, uint64_t cookie)
{
	struct segment *s = segment_of(slot);

	if (!s)
		return false;
	return atomic_load(&slot->state) == STATUS_FREE ||
	       slot->cookie != cookie || is_left(s, slot);
}

const struct status_holder *segment_holders(const struct status_slot *slot,
					    uint64_t *others)
{
	struct segment *s = segment_of(slot);

	if (!s)
		return NULL;
	*others = atomic_load(&slot->holders) & ~(1ull << s->self);
	return s->header->holders;
}

static bool leave(struct status_slot *slot, bool looks)
{
	struct segment *s = segment_of(slot);
	uint64_t self;
	uint64_t before;

	if (!s)
		return false;
	self = 1ull << s->self;
	before = atomic_fetch_and(&slot->holders, ~self);
	if (before == self)
		return true;
	return looks && (before & self) && !segment_is_held(s, before);
}

bool segment_slot_leave(struct status_slot *slot)
{
	ENGINE_LOCKED();
	return leave(slot, true);
}

bool segment_slot_leave_shared(struct status_slot *slot)
{
	return leave(slot, false);
}

/* Into the segment that the slot is of: a forked child may be the last. */
void segment_slot_free(struct status_slot *slot)
{
	struct segment *s = segment_of(slot);

	ENGINE_LOCKED();
	status_add_ended(s ? &s->header->counters : &segment_nowhere, slot);
	atomic_store(&slot->state, STATUS_FREE);
}
