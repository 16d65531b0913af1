/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_watch: queue pairs that were busy lately.
 *
 * Locking: a pair is watched by one worker; sq_lock guards is_watched and,
 *          with it, the word of the ring that the program looks at.
 */
#include "ofed_core/qp/qp_watch.h"

#include "ofed_core/base/shim_protocol.h"
#include "ofed_core/qp/qp_state.h"
#include "ofed_core/rc/requester.h"
#include "ofed_core/verbs/qp_table.h"

#define WATCHED_MAX 8

struct watch {
	unsigned count;
	unsigned seen; /* the busy_count that it knows */
	uint32_t qpns[WATCHED_MAX];
};

/* Numbers of busy pairs, the latest anywhere. */
static _Atomic uint32_t busy[WATCHED_MAX];
static atomic_uint busy_count;

void qp_watch_busy(const struct qp *qp)
{
	unsigned i;

	for (i = 0; i < WATCHED_MAX; i++)
		if (atomic_load_explicit(&busy[i], memory_order_relaxed) ==
		    qp->qpn)
			return;
	i = atomic_fetch_add(&busy_count, 1);
	atomic_store(&busy[i % WATCHED_MAX], qp->qpn);
}

static void set_watched(struct qp *qp, bool is_watched)
{
	qp->is_watched = is_watched;
	ring_tell(qp->sq, SHIM_RING_POLLED, is_watched);
}

static void add(struct watch *h, uint32_t qpn)
{
	struct qp *qp = qpn ? qp_find(qpn) : NULL;

	if (!qp || h->count == WATCHED_MAX)
		return;
	pthread_mutex_lock(&qp->sq_lock);
	if (!qp->is_watched) {
		set_watched(qp, true);
		h->qpns[h->count++] = qpn;
	}
	pthread_mutex_unlock(&qp->sq_lock);
}

static void add_busy(struct watch *h)
{
	h->seen = atomic_load(&busy_count);
	for (unsigned i = 0; i < WATCHED_MAX; i++)
		add(h, atomic_load(&busy[i]));
}

static void begin(struct worker *w)
{
	struct watch *h = worker_buffer(BUFFER_WATCH, sizeof(*h));

	(void)w;
	if (!h)
		return;
	pthread_rwlock_rdlock(&core_lock);
	add_busy(h);
	pthread_rwlock_unlock(&core_lock);
}

static bool has_posted(struct qp *qp)
{
	bool has;

	/* The thread that holds the lock looks at the ring itself. */
	if (pthread_mutex_trylock(&qp->sq_lock) != 0)
		return false;
	has = atomic_load(&qp->state) == QP_RTS && requester_has_posted(qp);
	pthread_mutex_unlock(&qp->sq_lock);
	return has;
}

static bool look(struct worker *w)
{
	struct watch *h = worker_buffer(BUFFER_WATCH, sizeof(*h));
	bool has_run = false;

	(void)w;
	if (!h)
		return false;
	pthread_rwlock_rdlock(&core_lock);
	if (h->seen != atomic_load(&busy_count))
		add_busy(h);
	for (unsigned i = 0; i < h->count; i++) {
		struct qp *qp = qp_find(h->qpns[i]);

		if (!qp || !has_posted(qp))
			continue;
		qp_run(qp);
		has_run = true;
	}
	if (has_run && worker_after_batch)
		worker_after_batch();
	pthread_rwlock_unlock(&core_lock);
	return has_run;
}

static void end(struct worker *w)
{
	struct watch *h = worker_buffer(BUFFER_WATCH, sizeof(*h));

	(void)w;
	if (!h)
		return;
	pthread_rwlock_rdlock(&core_lock);
	for (unsigned i = 0; i < h->count; i++) {
		struct qp *qp = qp_find(h->qpns[i]);

		if (!qp)
			continue;
		pthread_mutex_lock(&qp->sq_lock);
		set_watched(qp, false);
		/* Posted before the program could see that. */
		if (requester_has_posted(qp))
			work_post(&qp->work);
		pthread_mutex_unlock(&qp->sq_lock);
	}
	h->count = 0;
	pthread_rwlock_unlock(&core_lock);
}

void qp_watch_init(void)
{
	static const struct worker_watch watch = {begin, look, end};

	worker_watch = &watch;
}
