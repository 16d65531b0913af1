/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * worker: threads, timers (a binary heap each) and posted work.
 */
#include "ofed_core/base/worker.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/pure/busy_poll.h"

#define EVENTS_MAX 32
#define BATCH_MAX  64 /* timers and work items before looking at sources */
#define SLICE_NS   100000
#define SLACK_NS   1000 /* sleeps are that exact */
#define EVENTS     (EPOLLIN | EPOLLRDHUP)

struct worker {
	pthread_t thread;
	int epoll;
	struct source wake;
	atomic_bool is_awake;

	pthread_mutex_t lock; /* guards what follows */
	struct timer **heap;
	size_t count;
	size_t room;
	struct work *first;
	struct work *last;

	/* Only its thread uses these. */
	void *buffers[WORKER_BUFFERS];
	struct epoll_event events[EVENTS_MAX]; /* that are being served */
	int event_count;
	struct busy_poll busy_poll;
	bool is_watching;
	unsigned deaf; /* sources that are not listened to */
};

pthread_rwlock_t core_lock;
void (*worker_after_batch)(void);
const struct worker_watch *worker_watch;

static struct worker workers[WORKERS_MAX];
static unsigned worker_total;
static atomic_bool stopping;
static __thread struct worker *self;

uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned workers_count(void)
{
	return worker_total;
}

struct worker *worker_at(unsigned i)
{
	return &workers[i & (worker_total - 1)];
}

struct worker *worker_self(void)
{
	return self;
}

void *worker_buffer(enum worker_buffer which, size_t bytes)
{
	if (!self->buffers[which])
		self->buffers[which] = calloc(1, bytes);
	return self->buffers[which];
}

static void wake(struct worker *w)
{
	uint64_t one = 1;

	if (w == self || atomic_load(&w->is_awake))
		return;
	if (write(w->wake.fd, &one, sizeof(one)) < 0)
		log_debug("wake-up lost: descriptor is full");
}

static void on_wake(struct source *s, uint32_t events)
{
	uint64_t n;

	(void)events;
	if (read(s->fd, &n, sizeof(n)) < 0)
		return;
}

/* ---- Timers ---- */

static void place(struct worker *w, size_t i, struct timer *t)
{
	w->heap[i] = t;
	t->slot = i + 1;
}

static void sift_up(struct worker *w, size_t i, struct timer *t)
{
	while (i > 0 && w->heap[(i - 1) / 2]->when > t->when) {
		place(w, i, w->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(w, i, t);
}

static void sift_down(struct worker *w, size_t i, struct timer *t)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= w->count)
			break;
		if (child + 1 < w->count &&
		    w->heap[child + 1]->when < w->heap[child]->when)
			child++;
		if (w->heap[child]->when >= t->when)
			break;
		place(w, i, w->heap[child]);
		i = child;
	}
	place(w, i, t);
}

static void take_out(struct worker *w, struct timer *t)
{
	size_t i = t->slot - 1;
	struct timer *last = w->heap[--w->count];

	t->slot = 0;
	if (last == t)
		return;
	if (i > 0 && w->heap[(i - 1) / 2]->when > last->when)
		sift_up(w, i, last);
	else
		sift_down(w, i, last);
}

void timer_init(struct timer *t, struct worker *w, void (*fire)(struct timer *))
{
	*t = (struct timer){.worker = w, .fire = fire};
}

static bool make_room(struct worker *w)
{
	size_t room = w->room ? w->room * 2 : 64;
	struct timer **heap;

	if (w->count < w->room)
		return true;
	heap = realloc(w->heap, room * sizeof(struct timer *));
	if (!heap)
		return false;
	w->heap = heap;
	w->room = room;
	return true;
}

static void arm(struct timer *t, uint64_t when, bool only_earlier)
{
	struct worker *w = t->worker;
	bool is_first = false;

	pthread_mutex_lock(&w->lock);
	if (t->slot && only_earlier && t->when <= when) {
		pthread_mutex_unlock(&w->lock);
		return;
	}
	if (t->slot)
		take_out(w, t);
	t->when = when;
	if (make_room(w)) {
		w->count++;
		sift_up(w, w->count - 1, t);
		is_first = t->slot == 1;
	} else {
		log_error("no memory for a timer");
	}
	pthread_mutex_unlock(&w->lock);
	if (is_first)
		wake(w);
}

void timer_set(struct timer *t, uint64_t when)
{
	arm(t, when, false);
}

void timer_set_earlier(struct timer *t, uint64_t when)
{
	arm(t, when, true);
}

void timer_cancel(struct timer *t)
{
	struct worker *w = t->worker;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	if (t->slot)
		take_out(w, t);
	pthread_mutex_unlock(&w->lock);
}

static struct timer *due(struct worker *w, uint64_t now)
{
	struct timer *t = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->count && w->heap[0]->when <= now) {
		t = w->heap[0];
		take_out(w, t);
	}
	pthread_mutex_unlock(&w->lock);
	return t;
}

/* ---- Work ---- */

void work_init(struct work *k, struct worker *w, void (*run)(struct work *))
{
	*k = (struct work){.worker = w, .run = run};
}

void work_post(struct work *k)
{
	struct worker *w = k->worker;
	bool is_new = false;

	pthread_mutex_lock(&w->lock);
	if (!k->is_queued) {
		is_new = true;
		k->is_queued = true;
		k->next = NULL;
		if (w->last)
			w->last->next = k;
		else
			w->first = k;
		w->last = k;
	}
	pthread_mutex_unlock(&w->lock);
	if (is_new)
		wake(w);
}

void work_cancel(struct work *k)
{
	struct worker *w = k->worker;
	struct work **p;
	struct work *before = NULL;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	for (p = &w->first; *p && *p != k; p = &(*p)->next)
		before = *p;
	if (*p) {
		*p = k->next;
		if (w->last == k)
			w->last = before;
		k->is_queued = false;
	}
	pthread_mutex_unlock(&w->lock);
}

static struct work *next_work(struct worker *w)
{
	struct work *k;

	pthread_mutex_lock(&w->lock);
	k = w->first;
	if (k) {
		w->first = k->next;
		if (!w->first)
			w->last = NULL;
		k->is_queued = false;
	}
	pthread_mutex_unlock(&w->lock);
	return k;
}

/* ---- The loop ---- */

static void run_batch(struct worker *w)
{
	uint64_t now = clock_ns();
	struct timer *t;
	struct work *last;
	struct work *k = NULL;

	pthread_rwlock_rdlock(&core_lock);
	for (int i = 0; i < BATCH_MAX && (t = due(w, now)); i++)
		t->fire(t);
	/* What is posted again meanwhile waits for the next batch. */
	pthread_mutex_lock(&w->lock);
	last = w->last;
	pthread_mutex_unlock(&w->lock);
	for (int i = 0; i < BATCH_MAX && k != last && (k = next_work(w)); i++)
		k->run(k);
	if (worker_after_batch)
		worker_after_batch();
	pthread_rwlock_unlock(&core_lock);
}

/* How long to sleep; zero when something is due. NULL: until woken. */
static struct timespec *sleep_time(struct worker *w, struct timespec *t)
{
	uint64_t now = clock_ns();
	struct timespec *out = t;
	uint64_t ns = 0;

	pthread_mutex_lock(&w->lock);
	if (w->first)
		ns = 0;
	else if (!w->count)
		out = NULL;
	else if (w->heap[0]->when > now)
		ns = w->heap[0]->when - now;
	pthread_mutex_unlock(&w->lock);
	t->tv_sec = (time_t)(ns / 1000000000u);
	t->tv_nsec = (long)(ns % 1000000000u);
	return out;
}

/* ---- Polling ---- */

static int poll_sources(struct worker *w, struct epoll_event *events)
{
	return epoll_wait(w->epoll, events, EVENTS_MAX, 0);
}

static bool is_due(struct worker *w)
{
	struct timespec t;

	return sleep_time(w, &t) && !t.tv_sec && !t.tv_nsec;
}

static void begin_watch(struct worker *w, uint64_t now)
{
	if (w->is_watching || !worker_watch ||
	    busy_poll_is_crowded(&w->busy_poll, now))
		return;
	w->is_watching = true;
	worker_watch->begin(w);
}

static void end_watch(struct worker *w)
{
	if (!w->is_watching)
		return;
	worker_watch->end(w);
	w->is_watching = false;
}

static uint64_t step_aside(struct worker *w)
{
	uint64_t before = clock_ns();
	uint64_t now;

	sched_yield();
	now = clock_ns();
	busy_poll_stepped(&w->busy_poll, before, now);
	return now;
}

/*
 * Sources that became ready while it polls; 0 when the time is over or
 * something else is due. What the watch finds starts the time anew; it goes on
 * while sources are served, and ends before the worker sleeps.
 */
static int poll_busily(struct worker *w, struct epoll_event *events)
{
	uint64_t now = clock_ns();
	uint64_t begin = now;
	int n;

	for (;;) {
		if (w->is_watching && worker_watch->look(w))
			begin = now;
		n = poll_sources(w, events);
		if (n || w->deaf || is_due(w) ||
		    !busy_poll_may(&w->busy_poll, begin, now) ||
		    atomic_load(&stopping))
			return n;
		begin_watch(w, now);
		now = step_aside(w);
	}
}

/* Waits for sources; also returns when a timer or work is due. */
static int await(struct worker *w, struct epoll_event *events)
{
	uint64_t begin = clock_ns();
	int n = poll_busily(w, events);
	struct timespec t;

	if (n == 0 && !is_due(w)) {
		end_watch(w);
		/*
		 * Work that is posted after this store wakes us; what was
		 * posted before it is seen by sleep_time(), which takes the
		 * same lock.
		 */
		atomic_store(&w->is_awake, false);
		n = epoll_pwait2(w->epoll, events, EVENTS_MAX,
				 sleep_time(w, &t), NULL);
		atomic_store(&w->is_awake, true);
	}
	busy_poll_learn(&w->busy_poll, clock_ns() - begin);
	return n;
}

/*
 * Asks for short slices (Linux 6.12): a thread that does little at a time is
 * then served soon after it wakes, and gets no more than its share.
 */
static void ask_for_short_slices(void)
{
	struct {
		uint32_t size;
		uint32_t policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime;
		uint64_t deadline;
		uint64_t period;
	} a = {.size = sizeof(a),
	       .policy = SCHED_OTHER,
	       .nice = getpriority(PRIO_PROCESS, 0),
	       .runtime = SLICE_NS};

	if (syscall(SYS_sched_setattr, 0, &a, 0) < 0)
		log_debug("sched_setattr: error %d", errno);
}

static void *worker_main(void *argument)
{
	struct worker *w = argument;

	self = w;
	ask_for_short_slices();
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	while (!atomic_load(&stopping)) {
		int n = await(w, w->events);

		/* Orders what was written before a source was added. */
		pthread_mutex_lock(&w->lock);
		pthread_mutex_unlock(&w->lock);
		if (n < 0 && errno != EINTR)
			log_error("epoll: error %d", errno);
		w->event_count = n;
		for (int i = 0; i < n; i++) {
			struct source *s = w->events[i].data.ptr;

			if (s)
				s->ready(s, w->events[i].events);
		}
		run_batch(w);
	}
	return NULL;
}

static int add_source(struct worker *w, struct source *s, uint32_t events)
{
	struct epoll_event e = {.events = events, .data = {.ptr = s}};
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = epoll_ctl(w->epoll, EPOLL_CTL_ADD, s->fd, &e) < 0 ? -errno : 0;
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int worker_add_source(struct worker *w, struct source *s)
{
	return add_source(w, s, EVENTS);
}

int worker_await_end(struct worker *w, struct source *s)
{
	/* The kernel always tells that a connection is over. */
	return add_source(w, s, 0);
}

void worker_listen(struct worker *w, struct source *s, bool on)
{
	struct epoll_event e = {.events = on ? EVENTS : 0, .data = {.ptr = s}};

	if (epoll_ctl(w->epoll, EPOLL_CTL_MOD, s->fd, &e) < 0)
		return;
	if (on)
		w->deaf--;
	else
		w->deaf++;
}

void worker_remove_source(struct worker *w, struct source *s)
{
	epoll_ctl(w->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	for (int i = 0; i < w->event_count; i++)
		if (w->events[i].data.ptr == s)
			w->events[i].data.ptr = NULL;
}

static int init_lock(void)
{
	pthread_rwlockattr_t a;
	int rc;

	pthread_rwlockattr_init(&a);
	/* A stream of packets must not starve the commands. */
	pthread_rwlockattr_setkind_np(
	    &a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	rc = pthread_rwlock_init(&core_lock, &a);
	pthread_rwlockattr_destroy(&a);
	return -rc;
}

int workers_start(unsigned count)
{
	int rc = init_lock();

	worker_total = count;
	for (unsigned i = 0; i < count && rc == 0; i++) {
		struct worker *w = &workers[i];

		pthread_mutex_init(&w->lock, NULL);
		w->epoll = epoll_create1(EPOLL_CLOEXEC);
		w->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		w->wake.ready = on_wake;
		if (w->epoll < 0 || w->wake.fd < 0)
			return -errno;
		rc = worker_add_source(w, &w->wake);
	}
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = -pthread_create(&workers[i].thread, NULL, worker_main,
				     &workers[i]);
	return rc;
}

void workers_stop(void)
{
	uint64_t one = 1;

	atomic_store(&stopping, true);
	for (unsigned i = 0; i < worker_total; i++)
		if (write(workers[i].wake.fd, &one, sizeof(one)) < 0)
			log_debug("worker %u is already being woken", i);
}

void workers_wait(void)
{
	for (unsigned i = 0; i < worker_total; i++) {
		pthread_join(workers[i].thread, NULL);
		for (int k = 0; k < WORKER_BUFFERS; k++)
			free(workers[i].buffers[k]);
	}
}
