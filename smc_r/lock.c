/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lock: one direction of one connection, when it is not free at once. */
#include "lock.h"

#include <errno.h>
#include <signal.h>

#include "sys.h"

/* A store by the releaser may pass our count of waiters; so every sleep ends
 * by the clock, and that is also when a dead holder is looked for. */
static const struct timespec slice = {0, 2000000};

static bool thread_is_gone(uint32_t tid)
{
	return SYS_CALL3(SYS_tkill, tid, 0, 0) == -ESRCH;
}

bool stream_lock_slow(struct status_stream *s, uint32_t self, uint64_t frame)
{
	for (unsigned round = 0;; round++) {
		uint32_t seen = atomic_load(&s->lock);

		if (seen == self) {
			/* Stacks grow downwards: a frame below ours is gone. */
			if (atomic_load(&s->frame) > frame)
				return false;
			atomic_store(&s->frame, frame);
			return true;
		}
		if (seen && round >= 64) {
			atomic_fetch_add(&s->waiters, 1);
			sys_futex_wait(&s->lock, seen, &slice);
			atomic_fetch_sub(&s->waiters, 1);
			if (!thread_is_gone(seen))
				continue;
		} else if (seen) {
			sys_relax();
			continue;
		}
		if (atomic_compare_exchange_strong(&s->lock, &seen, self)) {
			atomic_store(&s->frame, frame);
			return true;
		}
	}
}

void stream_wake(struct status_stream *s)
{
	sys_futex_wake(&s->lock, 1);
}
