/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lock: one direction of one connection, when it is not free at once. */
#include "smc_r/os/lock.h"

#include <signal.h>

#include "smc_r/os/sys.h"

/* A store by the releaser may pass our count of waiters; so every sleep ends
 * by the clock, and that is also when a dead holder is looked for. */
static const struct timespec slice = {0, 2000000};

/*
 * This thread is the holder: was it interrupted, or left by siglongjmp? Stacks
 * grow downwards, so a frame below ours is gone. A signal stack may lie
 * anywhere: on it we interrupted all that is not on it, and off it all that is
 * on it has been left.
 */
static bool holder_goes_on(uint64_t held, uint64_t frame)
{
	stack_t other;

	if (SYS_CALL3(SYS_sigaltstack, NULL, &other, 0) == 0 &&
	    !(other.ss_flags & SS_DISABLE)) {
		bool we = other.ss_flags & SS_ONSTACK;
		bool holder =
		    held - (uint64_t)(uintptr_t)other.ss_sp < other.ss_size;

		if (we != holder)
			return we;
	}
	return held > frame;
}

/*
 * From a holder that will never give it back; what it was writing is void.
 * No handler may come in between: it would find our number beside the frame
 * and the reservation of the other.
 */
static bool take_over(struct status_stream *s, uint32_t seen, uint32_t self,
		      uint64_t frame)
{
	uint64_t all = ~0ull;
	uint64_t saved;
	bool done;

	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, sizeof(all));
	done = atomic_compare_exchange_strong(&s->lock, &seen, self);
	if (done) {
		atomic_store(&s->window,
			     window_make(window_shift(atomic_load(&s->window)),
					 atomic_load(&s->position)));
		atomic_store(&s->frame, frame);
	}
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(all));
	return done;
}

bool stream_lock_slow(struct status_stream *s, uint32_t self, uint64_t frame)
{
	for (unsigned round = 0;; round++) {
		uint32_t seen = atomic_load(&s->lock);

		if (seen == self) {
			if (holder_goes_on(atomic_load(&s->frame), frame))
				return false;
			if (take_over(s, seen, self, frame))
				return true;
		} else if (seen && round < 64) {
			sys_relax();
		} else if (seen) {
			atomic_fetch_add(&s->waiters, 1);
			sys_futex_wait(&s->lock, seen, &slice);
			atomic_fetch_sub(&s->waiters, 1);
			if (process_thread_is_dead(seen) &&
			    take_over(s, seen, self, frame))
				return true;
		} else if (atomic_compare_exchange_strong(&s->lock, &seen,
							  self)) {
			atomic_store(&s->frame, frame);
			return true;
		}
	}
}

void stream_wake(struct status_stream *s)
{
	sys_futex_wake(&s->lock, 1);
}
