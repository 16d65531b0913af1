/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * idle_worker: stands in for the threads of the RDMA core (worker.h). Nothing
 * runs but what the harness runs itself: sources, and work that was posted.
 * Timers never fire, and the clock stands still.
 *
 * For one program; all of it stands in for the core, or is static.
 */
#ifndef TESTS_FUZZ_IDLE_WORKER_H
#define TESTS_FUZZ_IDLE_WORKER_H

#include <stdlib.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/worker.h"

struct worker {
	struct source *last; /* that was added */
	struct work *first;
	void *buffers[WORKER_BUFFERS];
};

static struct worker idle_worker;

pthread_rwlock_t core_lock = PTHREAD_RWLOCK_INITIALIZER;
void (*worker_after_batch)(void);
const struct worker_watch *worker_watch;

int workers_start(unsigned count)
{
	(void)count;
	return 0;
}

void workers_stop(void)
{
}

void workers_wait(void)
{
}

unsigned workers_count(void)
{
	return 1;
}

struct worker *worker_at(unsigned i)
{
	(void)i;
	return &idle_worker;
}

struct worker *worker_self(void)
{
	return &idle_worker;
}

void *worker_buffer(enum worker_buffer which, size_t bytes)
{
	if (!idle_worker.buffers[which])
		idle_worker.buffers[which] = calloc(1, bytes);
	return idle_worker.buffers[which];
}

int worker_add_source(struct worker *w, struct source *s)
{
	w->last = s;
	return 0;
}

int worker_await_end(struct worker *w, struct source *s)
{
	return worker_add_source(w, s);
}

void worker_remove_source(struct worker *w, struct source *s)
{
	if (w->last == s)
		w->last = NULL;
}

void worker_listen(struct worker *w, struct source *s, bool on)
{
	(void)w;
	(void)s;
	(void)on;
}

void timer_init(struct timer *t, struct worker *w, void (*fire)(struct timer *))
{
	*t = (struct timer){.worker = w, .fire = fire};
}

void timer_set(struct timer *t, uint64_t when)
{
	t->when = when;
}

void timer_set_earlier(struct timer *t, uint64_t when)
{
	t->when = when;
}

void timer_cancel(struct timer *t)
{
	t->when = 0;
}

void work_init(struct work *k, struct worker *w, void (*run)(struct work *))
{
	*k = (struct work){.worker = w, .run = run};
}

void work_post(struct work *k)
{
	if (k->is_queued)
		return;
	k->is_queued = true;
	k->next = idle_worker.first;
	idle_worker.first = k;
}

void work_cancel(struct work *k)
{
	struct work **p = &idle_worker.first;

	while (*p && *p != k)
		p = &(*p)->next;
	if (*p)
		*p = k->next;
	k->is_queued = false;
}

/* Runs what is posted, not what is posted meanwhile. */
static inline void idle_worker_run(void)
{
	struct work *all = idle_worker.first;

	idle_worker.first = NULL;
	while (all) {
		struct work *k = all;

		all = k->next;
		k->is_queued = false;
		k->run(k);
	}
}

uint64_t clock_ns(void)
{
	return 1000 * NS_PER_MS;
}

#endif
