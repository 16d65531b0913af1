/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * worker: the threads of the core; each waits for descriptors, timers and
 * posted work, and sleeps when it has none.
 *
 * Locking: two locks make object life-time simple. core_lock is held for
 * reading while a worker runs timers, work and packets, and for writing while
 * an object is made, changed by a command or destroyed; so what a reader found
 * stays until it lets go. Readers never nest. sources are called without it
 * and take what they need. Timer and work lists have a lock per worker.
 *
 * The core runs at nice -10, as programs that never sleep wait for it, and a
 * thread that was woken is served sooner than one that yielded.
 */
#ifndef OFED_CORE_WORKER_H
#define OFED_CORE_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKERS_MAX 8 /* a power of two */

struct worker;

/* A timer belongs to one worker and sits in its heap while armed. */
struct timer {
	uint64_t when; /* ns of CLOCK_MONOTONIC */
	size_t slot;   /* place in the heap + 1; 0: not armed */
	struct worker *worker;
	void (*fire)(struct timer *t); /* under core_lock, for reading */
};

struct work {
	struct work *next;
	bool is_queued;
	struct worker *worker;
	void (*run)(struct work *w); /* under core_lock, for reading */
};

/*
 * A descriptor. ready() runs on the worker's thread; only there may the
 * source be removed.
 */
struct source {
	int fd;
	void (*ready)(struct source *s, uint32_t events);
};

extern pthread_rwlock_t core_lock;

/* count is a power of two up to WORKERS_MAX. */
int workers_start(unsigned count);
/* Asks every thread to end after its batch; does not wait. */
void workers_stop(void);
unsigned workers_count(void);
struct worker *worker_at(unsigned i);
/* The worker whose thread this is, NULL elsewhere. */
struct worker *worker_self(void);
/* Waits until every thread has ended. */
void workers_wait(void);

/* Buffers that each thread keeps; zeroed when first asked for. */
enum worker_buffer {
	BUFFER_BOUNCE, /* memory.c */
	BUFFER_INBOX,  /* wire_receive.c */
	BUFFER_OUTBOX, /* wire_send.c */
	BUFFER_WATCH,  /* qp_watch.c */
	WORKER_BUFFERS
};
/* NULL without memory. Only on the thread of a worker. */
void *worker_buffer(enum worker_buffer which, size_t bytes);

int worker_add_source(struct worker *w, struct source *s);
/* One that is only ready when the other end of its connection has gone. */
int worker_await_end(struct worker *w, struct source *s);
/* On the thread of the worker; it is not called any more. */
void worker_remove_source(struct worker *w, struct source *s);
/*
 * A source that is not listened to wakes nobody, and its worker sleeps at once
 * when it has nothing else to do. What has come meanwhile is there when it is
 * listened to again. Only on the thread of the worker; in turns.
 */
void worker_listen(struct worker *w, struct source *s, bool on);

void timer_init(struct timer *t, struct worker *w,
		void (*fire)(struct timer *));
void timer_set(struct timer *t, uint64_t when);
/* Sets it unless it fires earlier already. */
void timer_set_earlier(struct timer *t, uint64_t when);
/* Under core_lock for writing, or from its own worker: does not fire later. */
void timer_cancel(struct timer *t);

void work_init(struct work *k, struct worker *w, void (*run)(struct work *));
/* Posting queued work again does nothing. */
void work_post(struct work *k);
void work_cancel(struct work *k);

/* Called after each batch, still under core_lock: hands packets over. */
extern void (*worker_after_batch)(void);

/*
 * A worker that had something to do polls for a moment before it sleeps
 * (busy_poll.h), and lets others have the processor meanwhile. From then until
 * it sleeps it calls these.
 */
struct worker_watch {
	void (*begin)(struct worker *w);
	/* True when there was something to do, and it is done. */
	bool (*look)(struct worker *w);
	void (*end)(struct worker *w);
};
extern const struct worker_watch *worker_watch;

uint64_t clock_ns(void);

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)

#endif
