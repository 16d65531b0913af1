/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* segment_fork: a child joins the holders of what it inherits. */
#include "smc_r/os/process.h"
#include "smc_r/status/segment.h"
#include "smc_r/status/segment_table.h"
#include "smc_r/status/totals.h"

static bool crowded; /* our own segment has no entry for the next child */

static bool holds_any(const struct segment *s)
{
	uint32_t n = atomic_load(&s->header->slot_count);

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&s->slots[i].state) != STATUS_FREE &&
		    atomic_load(&s->slots[i].holders) >> s->self & 1)
			return true;
	return false;
}

bool segment_holds_any(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		if (segments[i].header && holds_any(&segments[i]))
			return true;
	return false;
}

static bool has_free_entry(const struct segment *s)
{
	for (int i = 0; i < UNCOUNTED; i++)
		if (i != s->self &&
		    atomic_load(&s->header->holders[i].pid) == 0)
			return true;
	return false;
}

/* Frees those whose process is gone. Ours is not. */
static void free_entries(struct segment *s)
{
	for (int i = 0; i < UNCOUNTED; i++) {
		struct status_holder *h = &s->header->holders[i];
		int32_t pid;

		if (i != s->self && !totals_holder_lives(h, &pid))
			atomic_compare_exchange_strong(&h->pid, &pid, 0);
	}
}

/* Each look at another process takes some calls, so nobody looks while an entry
 * is free. */
static bool make_room(struct segment *s)
{
	if (!has_free_entry(s))
		free_entries(s);
	return has_free_entry(s);
}

/* Other processes that share the segment may fork at the same time. */
static int take_entry(struct segment *s)
{
	if (!make_room(s))
		return -1;
	for (int i = 0; i < UNCOUNTED; i++) {
		struct status_holder *h = &s->header->holders[i];
		int32_t none = 0;

		if (i == s->self || !atomic_compare_exchange_strong(
					&h->pid, &none, -process.pid))
			continue;
		totals_holder_write(h, process.pid, totals_unborn(), 0);
		return i;
	}
	return -1;
}

/* What begins now is in our own segment, whatever the others are. The child
 * that was told apart now has taken an entry; the next one needs one, too. */
static void see_crowd(struct segment *s)
{
	if (s == &segments[0])
		crowded = s->child < 0 || !make_room(s);
}

static void mark_slots(struct segment *s, int entry)
{
	uint32_t n = atomic_load(&s->header->slot_count);
	uint64_t bit = 1ull << entry;

	for (uint32_t i = 0; i < n; i++) {
		_Atomic uint64_t *holders = &s->slots[i].holders;

		if (atomic_load(&s->slots[i].state) != STATUS_FREE &&
		    atomic_load(holders) >> s->self & 1)
			atomic_fetch_or(holders, bit);
		else if (entry != UNCOUNTED)
			atomic_fetch_and(holders, ~bit);
	}
}

/* One entry at a time: all may live, and each costs a look into /proc. */
bool segment_is_crowded(void)
{
	static int next;
	int32_t pid;

	if (!crowded || !segments[0].header)
		return false;
	next = (next + 1) % UNCOUNTED;
	crowded = totals_holder_lives(&segments[0].header->holders[next], &pid);
	return crowded;
}

/* The entry carries the parent's pid until the child has put in its own, and is
 * not judged by that one's life: a slot never looks abandoned in between. */
bool segment_before_fork(void)
{
	bool counted = true;

	for (int i = 0; i < SEGMENTS_MAX; i++) {
		struct segment *s = &segments[i];

		s->child = -1;
		if (!s->header || !holds_any(s))
			continue;
		s->child = take_entry(s);
		see_crowd(s);
		if (s->child >= 0)
			mark_slots(s, s->child);
		else
			counted = false;
	}
	return counted;
}

void segment_before_uncounted_fork(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		if (segments[i].header && segments[i].child < 0)
			mark_slots(&segments[i], UNCOUNTED);
}

/* The handlers ran, and there is no child. */
void segment_fork_failed(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++) {
		struct segment *s = &segments[i];
		uint32_t n;

		if (!s->header || s->child < 0)
			continue;
		n = atomic_load(&s->header->slot_count);
		for (uint32_t k = 0; k < n; k++)
			atomic_fetch_and(&s->slots[k].holders,
					 ~(1ull << s->child));
		atomic_store(&s->header->holders[s->child].pid, 0);
		s->child = -1;
	}
}

void segment_before_successor(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++) {
		struct segment *s = &segments[i];

		if (s->header)
			atomic_fetch_and(&s->header->holders[s->self].flags,
					 ~STATUS_HOLDER_EXECS);
	}
}

void segment_begin_empty(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		segments[i].header = NULL;
	crowded = false;
	segment_forget_files();
	segment_shift();
}

void segment_after_fork(bool child)
{
	if (!child)
		return;
	for (int i = SEGMENTS_MAX - 1; i >= 0; i--) {
		struct segment *s = &segments[i];

		if (!s->header || s->child < 0) {
			s->header = NULL;
			continue;
		}
		totals_holder_write(
		    &s->header->holders[s->child], process.pid, process.start,
		    process.exec_shows ? STATUS_HOLDER_EXECS : 0);
		s->self = s->child;
	}
	crowded = false;
	segment_shift();
}
