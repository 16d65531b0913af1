/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sleepers: counts and records of threads that sleep. */
#include "sleepers.h"

#include <errno.h>
#include <stddef.h>

#include "process.h"
#include "sys.h"

/* A handler may sleep above a sleep, and be interrupted. Deeper ones are not
 * counted. */
#define RECORDS 4

struct record {
	uintptr_t frame; /* 0: free */
	struct status_stream *stream;
	_Atomic uint32_t *count;
};

static __thread struct record records[RECORDS];

static void decrease(_Atomic uint32_t *n)
{
	uint32_t now = atomic_load(n);

	while (now > 0 && !atomic_compare_exchange_weak(n, &now, now - 1))
		;
}

void sleepers_join(struct status_stream *stream)
{
	atomic_fetch_add(&stream->sleepers, 1);
	sleepers_first(stream);
}

bool sleepers_leave(struct status_stream *stream)
{
	uint32_t tid = process_tid();

	decrease(&stream->sleepers);
	return atomic_compare_exchange_strong(&stream->first, &tid, 0);
}

bool sleepers_first(struct status_stream *stream)
{
	uint32_t tid = process_tid();
	uint32_t first = atomic_load(&stream->first);

	if (first == tid)
		return true;
	if (first && SYS_CALL3(SYS_tkill, first, 0, 0) != -ESRCH)
		return false;
	return atomic_compare_exchange_strong(&stream->first, &first, tid);
}

/* Another frame in the place of one that was left is that frame's to end. */
static void end(struct record *r)
{
	sleepers_leave(r->stream);
	decrease(r->count);
	r->frame = 0;
}

void sleepers_reap(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	for (int i = 0; i < RECORDS; i++)
		if (records[i].frame && records[i].frame < here)
			end(&records[i]);
}

void sleepers_forked(void)
{
	for (int i = 0; i < RECORDS; i++)
		if (records[i].frame)
			atomic_fetch_add(records[i].count, 1);
}

void sleeper_begin(struct sleeper *s, struct status_stream *stream,
		   _Atomic uint32_t *count)
{
	int i = 0;

	sleepers_reap();
	s->stream = stream;
	s->count = count;
	while (i < RECORDS && records[i].frame)
		i++;
	if (i == RECORDS)
		return;
	atomic_fetch_add(count, 1);
	sleepers_join(stream);
	records[i] = (struct record){(uintptr_t)s, stream, count};
}

void sleeper_end(void *argument)
{
	struct sleeper *s = argument;

	for (int i = 0; i < RECORDS; i++)
		if (records[i].frame == (uintptr_t)s) {
			end(&records[i]);
			return;
		}
}
