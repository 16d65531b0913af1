/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ring: see ring.h. */
#include "ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 64

struct ring {
	_Alignas(LINE) _Atomic uint64_t produced; /* writer */
	_Atomic uint32_t closed;                  /* writer */
	_Alignas(LINE) _Atomic uint64_t consumed; /* reader */
	/* 1 while an end sleeps or is about to; the futex word as well. */
	_Alignas(LINE) _Atomic uint32_t reader_sleeps;
	_Alignas(LINE) _Atomic uint32_t writer_sleeps;
	_Alignas(LINE) size_t size;
	_Alignas(LINE) unsigned char bytes[];
};

size_t ring_footprint(size_t size)
{
	return sizeof(struct ring) + size;
}

struct ring *ring_init(void *memory, size_t size)
{
	struct ring *r = memory;

	r->size = size;
	return r;
}

void ring_attach(struct ring_end *e, struct ring *r, enum ring_waiting waiting,
		 size_t piece)
{
	e->ring = r;
	e->waiting = waiting;
	e->piece = piece ? piece : r->size;
	e->own = 0;
	e->other = 0;
}

static void pause_once(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

static void wake(struct ring_end *e, _Atomic uint32_t *sleeps)
{
	if (e->waiting == RING_SPIN)
		return;
	/* The cursor must be out before we look whether the other sleeps. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(sleeps, memory_order_relaxed))
		return;
	atomic_store_explicit(sleeps, 0, memory_order_relaxed);
	syscall(SYS_futex, sleeps, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/*
 * One wait for the other end's cursor to move: either polls, or sleeps when
 * the polls are used up. Spurious returns are fine, the caller looks again.
 */
static void wait_for(struct ring_end *e, _Atomic uint64_t *cursor,
		     _Atomic uint32_t *sleeps, unsigned *polls)
{
	struct ring *r = e->ring;

	if (e->waiting == RING_SPIN ||
	    (e->waiting == RING_ADAPTIVE && *polls < RING_POLLS)) {
		(*polls)++;
		pause_once();
		return;
	}
	atomic_store_explicit(sleeps, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(cursor, memory_order_acquire) == e->other &&
	    !atomic_load_explicit(&r->closed, memory_order_acquire))
		syscall(SYS_futex, sleeps, FUTEX_WAIT, 1, NULL, NULL, 0);
	atomic_store_explicit(sleeps, 0, memory_order_relaxed);
	*polls = 0;
}

static void copy_in(struct ring *r, uint64_t at, const unsigned char *from,
		    size_t len)
{
	size_t offset = (size_t)at & (r->size - 1);
	size_t first = r->size - offset;

	if (first > len)
		first = len;
	memcpy(r->bytes + offset, from, first);
	memcpy(r->bytes, from + first, len - first);
}

static void copy_out(struct ring *r, uint64_t at, unsigned char *to, size_t len)
{
	size_t offset = (size_t)at & (r->size - 1);
	size_t first = r->size - offset;

	if (first > len)
		first = len;
	memcpy(to, r->bytes + offset, first);
	memcpy(to + first, r->bytes, len - first);
}

void ring_write(struct ring_end *e, const void *bytes, size_t len)
{
	struct ring *r = e->ring;
	const unsigned char *from = bytes;
	unsigned polls = 0;

	while (len) {
		size_t n = r->size - (size_t)(e->own - e->other);

		if (n < len && n < e->piece) {
			e->other = atomic_load_explicit(&r->consumed,
							memory_order_acquire);
			n = r->size - (size_t)(e->own - e->other);
		}
		if (!n) {
			wake(e, &r->reader_sleeps);
			wait_for(e, &r->consumed, &r->writer_sleeps, &polls);
			continue;
		}
		if (n > len)
			n = len;
		if (n > e->piece)
			n = e->piece;
		copy_in(r, e->own, from, n);
		e->own += n;
		from += n;
		len -= n;
		atomic_store_explicit(&r->produced, e->own,
				      memory_order_release);
	}
	wake(e, &r->reader_sleeps);
}

size_t ring_read(struct ring_end *e, void *bytes, size_t len)
{
	struct ring *r = e->ring;
	unsigned char *to = bytes;
	size_t done = 0;
	unsigned polls = 0;

	while (done < len) {
		size_t n = (size_t)(e->other - e->own);
		bool closed;

		if (!n) {
			closed = atomic_load_explicit(&r->closed,
						      memory_order_acquire);
			e->other = atomic_load_explicit(&r->produced,
							memory_order_acquire);
			n = (size_t)(e->other - e->own);
			if (!n && (done || closed))
				break;
		}
		if (!n) {
			wait_for(e, &r->produced, &r->reader_sleeps, &polls);
			continue;
		}
		if (n > len - done)
			n = len - done;
		if (n > e->piece)
			n = e->piece;
		copy_out(r, e->own, to + done, n);
		e->own += n;
		done += n;
		atomic_store_explicit(&r->consumed, e->own,
				      memory_order_release);
	}
	if (done)
		wake(e, &r->writer_sleeps);
	return done;
}

void ring_close(struct ring_end *e)
{
	struct ring *r = e->ring;

	atomic_store_explicit(&r->closed, 1, memory_order_release);
	wake(e, &r->reader_sleeps);
}
