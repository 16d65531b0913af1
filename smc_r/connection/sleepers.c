/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sleepers: counts and records of threads that sleep. */
#include "smc_r/connection/sleepers.h"

#include <errno.h>
#include <stddef.h>

#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

/* A handler may sleep above a sleep, and be interrupted. Deeper ones are not
 * counted. */
#define RECORDS 4

/* A handler's frames are further below the sleep than this. */
#define SLACK_BYTES 512

struct record {
	const struct sleeper *of; /* NULL: free */
	uintptr_t frame;          /* stack frame of the last sleep */
	struct sleep_place place; /* without a stream: awake */
	_Atomic uint32_t *count;
	void (*over)(void *owner);
	void (*astray)(void *owner); /* while it is asleep */
	void *owner;
};

static __thread struct record records[RECORDS];

static void decrease(_Atomic uint32_t *n)
{
	uint32_t now = atomic_load(n);

	while (now > 0 && !atomic_compare_exchange_weak(n, &now, now - 1))
		;
}

void sleepers_join(struct sleep_place place)
{
	atomic_fetch_add(&place.stream->sleepers, 1);
	sleepers_first(place);
}

bool sleepers_leave(struct sleep_place place)
{
	uint32_t tid = process_tid();

	decrease(&place.stream->sleepers);
	return atomic_compare_exchange_strong(place.first, &tid, 0);
}

static bool is_alive(uint32_t tid)
{
	return SYS_CALL3(SYS_tkill, tid, 0, 0) != -ESRCH;
}

bool sleepers_has_first(struct sleep_place place)
{
	uint32_t first = atomic_load(place.first);

	return first && is_alive(first);
}

bool sleepers_first(struct sleep_place place)
{
	uint32_t tid = process_tid();
	uint32_t first = atomic_load(place.first);

	if (first == tid)
		return true;
	if (first && is_alive(first))
		return false;
	return atomic_compare_exchange_strong(place.first, &first, tid);
}

static void leave(struct record *r)
{
	if (r->place.stream)
		sleepers_leave(r->place);
	r->place.stream = NULL;
}

/* Another frame in the place of one that was left is that frame's to end. */
static void end(struct record *r)
{
	struct record was = *r;

	leave(r);
	r->of = NULL;
	decrease(was.count);
	if (was.astray)
		was.astray(was.owner);
	if (was.over)
		was.over(was.owner);
}

void sleepers_reap(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	for (int i = 0; i < RECORDS; i++)
		if (records[i].of && records[i].frame < here)
			end(&records[i]);
}

void sleepers_forked(void)
{
	for (int i = 0; i < RECORDS; i++)
		if (records[i].of)
			atomic_fetch_add(records[i].count, 1);
}

/* NULL: a free one. */
static struct record *record_of(const struct sleeper *s)
{
	for (int i = 0; i < RECORDS; i++)
		if (records[i].of == s)
			return &records[i];
	return NULL;
}

void sleeper_begin(struct sleeper *s, const struct sleep_place *place)
{
	struct record *r;

	if (!s->begun)
		sleepers_reap();
	r = record_of(s->begun ? s : NULL);
	if (!r)
		return;
	if (!s->begun) {
		atomic_fetch_add(s->count, 1);
		*r = (struct record){.of = s,
				     .count = s->count,
				     .over = s->over,
				     .owner = s->owner};
		s->begun = true;
	}
	r->frame = (uintptr_t)__builtin_frame_address(0) - SLACK_BYTES;
	r->place = place ? *place : (struct sleep_place){0};
	if (!place)
		return;
	r->astray = s->astray;
	sleepers_join(*place);
}

void sleeper_takes(struct sleeper *s)
{
	struct record *r = s->begun ? record_of(s) : NULL;

	if (r)
		r->astray = s->astray;
}

void sleeper_wake(struct sleeper *s)
{
	struct record *r = s->begun ? record_of(s) : NULL;

	if (!r)
		return;
	r->astray = NULL;
	leave(r);
}

void sleeper_owes(struct sleeper *s)
{
	static _Atomic uint32_t nobody;
	struct record *r = s->begun ? record_of(s) : NULL;

	if (!r)
		return;
	leave(r);
	decrease(r->count);
	r->count = &nobody;
}

void sleeper_end(void *argument)
{
	struct sleeper *s = argument;
	struct record *r = s->begun ? record_of(s) : NULL;
	int error = errno;

	s->begun = false;
	if (r) {
		end(r);
		inject_nap(); /* nothing of it is left to be done */
	}
	errno = error;
}
