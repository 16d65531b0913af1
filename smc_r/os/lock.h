/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lock: one direction of one connection, for the length of a copy.
 *
 * It lives in memory that the forked processes of one end share and the peer
 * cannot reach. It carries the holder's thread id, so that
 *  - a holder that died (SIGKILL in the middle of a copy) is found out and the
 *    lock is taken over;
 *  - a signal handler that enters on top of the holder passes through; stream.h
 *    says how the two get on with each other;
 *  - a holder that was left by siglongjmp is recognised by its stack frame,
 *    which lies below ours, or on a signal stack that is not in use.
 * Never held across a sleep.
 */
#ifndef SMC_R_LOCK_H
#define SMC_R_LOCK_H

#include <stdbool.h>

#include "smc_r/os/process.h"
#include "smc_r/os/status.h"

/* The slow half of stream_lock; returns false when this thread holds it
 * already, further down its stack. */
bool stream_lock_slow(struct status_stream *s, uint32_t self, uint64_t frame);
void stream_wake(struct status_stream *s);

/* True: taken, give it back. False: nested in a signal handler, do not. */
static inline bool stream_lock_at(struct status_stream *s, uint64_t frame)
{
	uint32_t self = process_tid();
	uint32_t seen = 0;

	if (__builtin_expect(!atomic_compare_exchange_strong_explicit(
				 &s->lock, &seen, self, memory_order_acquire,
				 memory_order_relaxed),
			     0))
		return stream_lock_slow(s, self, frame);
	relaxed_store(&s->frame, frame);
	return true;
}

static inline bool stream_lock(struct status_stream *s)
{
	return stream_lock_at(s, (uintptr_t)__builtin_frame_address(0));
}

/*
 * For a holder that is called higher up the stack than all others: if it is
 * left, theirs must be seen to lie above. A signal's own frame is larger.
 */
#define LOCK_DEPTH 1024u
static inline bool stream_lock_early(struct status_stream *s)
{
	return stream_lock_at(s, (uintptr_t)__builtin_frame_address(0) -
				     LOCK_DEPTH);
}

static inline void stream_unlock(struct status_stream *s, bool taken)
{
	if (!taken)
		return;
	atomic_store_explicit(&s->lock, 0, memory_order_release);
	if (__builtin_expect(relaxed_load(&s->waiters), 0))
		stream_wake(s);
}

/*
 * Compare and swap between a holder and the handlers on top of it: one
 * instruction, so a handler comes before or after it. It does not lock the bus,
 * as nobody else may write what the stream lock guards.
 */
static inline bool stream_swap(_Atomic uint64_t *word, uint64_t old,
			       uint64_t new)
{
#if defined(__x86_64__) && !defined(__clang_analyzer__)
	bool done;

	__asm__ volatile("cmpxchgq %[new], (%[word])"
			 : "=@ccz"(done), "+a"(old)
			 : [word] "r"(word), [new] "r"(new)
			 : "memory");
	return done;
#else
	return atomic_compare_exchange_strong_explicit(
	    word, &old, new, memory_order_acq_rel, memory_order_relaxed);
#endif
}

/* status_stream.window */
static inline uint64_t window_make(uint32_t shift, uint64_t end)
{
	return (uint64_t)shift << 32 | (uint32_t)end;
}

static inline uint32_t window_shift(uint64_t window)
{
	return (uint32_t)(window >> 32);
}

#endif
