/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cq: completion queues, and the commands on them.
 *
 * A completion queue is armed by a store. The core is asked only when
 * completions lie in the queue of which no event told, and then tells at once.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/base/shim_protocol.h"

#define ELEMENT_BYTES 64 /* holds struct ib_uverbs_wc, a power of two */
/*
 * Of the smallest queue. Programs that ask for one entry and use more are used
 * to adapters, which are as generous.
 */
#define ENTRIES_MIN   15

_Static_assert(sizeof(struct ib_uverbs_wc) == 48, "shared layout");

static struct ring *make_ring(struct client *c, uint32_t entries)
{
	return object_ring(c, entries > ENTRIES_MIN ? entries : ENTRIES_MIN,
			   ELEMENT_BYTES);
}

static void notify(struct cq *cq)
{
	struct ib_uverbs_comp_event_desc e = {.cq_handle = cq->o.user_handle};

	ring_tell(cq->ring, SHIM_RING_ARM, SHIM_NOT_ARMED);
	cq->untold = 0;
	cq->since_solicited = 0;
	ring_tell_untold(cq->ring, 0);
	if (cq->channel && notifier_send(&cq->channel->notifier, &e) == 0)
		cq->comp_sent++;
}

/* The program arms the queue in the ring, then looks whether it is empty. */
static bool is_wanted(const struct cq *cq, bool is_solicited)
{
	switch (ring_asked(cq->ring, SHIM_RING_ARM)) {
	case SHIM_ARMED_ANY:
		return true;
	case SHIM_ARMED_SOLICITED:
		return is_solicited;
	default:
		return false;
	}
}

static uint32_t count_up(uint32_t n)
{
	return n == UINT32_MAX ? n : n + 1;
}

/*
 * The queue is armed while completions lie in it of which no event told. An
 * adapter looks at the consumer index that arming gives it, and fires at once;
 * there are programs that poll, then arm, then sleep.
 */
static bool is_overdue(const struct cq *cq)
{
	uint32_t unread = ring_unread(cq->ring);

	return unread && unread <= cq->untold &&
	       is_wanted(cq,
			 cq->since_solicited && cq->since_solicited <= unread);
}

bool cq_push(struct cq *cq, const struct ib_uverbs_wc *wc, bool is_solicited)
{
	bool is_first_loss = false;
	bool ok;

	is_solicited |= wc->status != WC_SUCCESS;
	pthread_mutex_lock(&cq->lock);
	ring_tell_untold(cq->ring, count_up(cq->untold));
	ok = ring_produce(cq->ring, wc, sizeof(*wc));
	if (ok) {
		cq->untold = count_up(cq->untold);
		if (is_solicited)
			cq->since_solicited = 1;
		else if (cq->since_solicited)
			cq->since_solicited = count_up(cq->since_solicited);
	}
	if (!ok) {
		is_first_loss = !cq->has_overflowed;
		cq->has_overflowed = true;
	} else if (is_wanted(cq, is_solicited)) {
		notify(cq);
	}
	pthread_mutex_unlock(&cq->lock);
	if (is_first_loss)
		event_send(cq->o.client, &cq->o, EVENT_CQ_ERR);
	return ok;
}

void cq_destroy(struct cq *cq)
{
	if (cq->channel)
		object_drop(&cq->channel->o);
	object_ring_drop(cq->o.client, cq->ring);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
}

static struct mminfo map_info(const struct ring *r)
{
	return (struct mminfo){.offset = r->offset, .size = (uint32_t)r->bytes};
}

static int find_channel(struct command *c, struct channel **out)
{
	*out = NULL;
	if (!c->fd_inode)
		return -EBADF;
	for (uint32_t i = 0; i < c->client->objects.room; i++) {
		struct channel *ch = object_find(c->client, i, OBJECT_CHANNEL);

		if (ch && ch->notifier.inode == c->fd_inode) {
			*out = ch;
			return 0;
		}
	}
	return -EINVAL;
}

static int create(struct command *c, const struct ib_uverbs_ex_create_cq *q,
		  struct cq **out)
{
	struct channel *ch = NULL;
	struct cq *cq;
	int rc = 0;

	if (!q->cqe || q->cqe > MAX_CQE || q->comp_vector >= 1)
		return -EINVAL;
	if (q->comp_channel >= 0)
		rc = find_channel(c, &ch);
	if (rc < 0)
		return rc;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ring = make_ring(c->client, q->cqe);
	rc = cq->ring ? object_add(c->client, &cq->o, OBJECT_CQ) : -ENOMEM;
	if (rc < 0) {
		object_ring_drop(c->client, cq->ring);
		free(cq);
		return rc;
	}
	pthread_mutex_init(&cq->lock, NULL);
	cq->o.user_handle = q->user_handle;
	cq->channel = ch;
	if (ch)
		object_hold(&ch->o);
	*out = cq;
	return 0;
}

int uverbs_create_cq(struct command *c)
{
	struct ib_uverbs_create_cq q;
	struct ib_uverbs_ex_create_cq ex = {0};
	struct ib_uverbs_create_cq_resp r = {0};
	struct rxe_create_cq_resp driver = {0};
	struct cq *cq;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	ex.user_handle = q.user_handle;
	ex.cqe = q.cqe;
	ex.comp_vector = q.comp_vector;
	ex.comp_channel = q.comp_channel;
	rc = create(c, &ex, &cq);
	if (rc < 0)
		return rc;
	r.cq_handle = cq->o.handle;
	r.cqe = ring_capacity(cq->ring);
	driver.mi = map_info(cq->ring);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_ex_create_cq(struct command *c)
{
	struct ib_uverbs_ex_create_cq q;
	struct ib_uverbs_ex_create_cq_resp r = {0};
	struct rxe_create_cq_resp driver = {0};
	struct cq *cq;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	if (q.comp_mask || q.flags || q.reserved)
		return -EOPNOTSUPP;
	rc = create(c, &q, &cq);
	if (rc < 0)
		return rc;
	r.base.cq_handle = cq->o.handle;
	r.base.cqe = ring_capacity(cq->ring);
	r.response_length = sizeof(r);
	driver.mi = map_info(cq->ring);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_resize_cq(struct command *c)
{
	struct ib_uverbs_resize_cq q;
	struct ib_uverbs_resize_cq_resp r = {0};
	struct rxe_resize_cq_resp driver = {0};
	struct ring *ring;
	struct ring *old;
	struct cq *cq;
	uint32_t used;
	uint32_t first;

	memcpy(&q, c->in, sizeof(q));
	cq = object_find(c->client, q.cq_handle, OBJECT_CQ);
	if (!cq || !q.cqe || q.cqe > MAX_CQE)
		return -EINVAL;
	old = cq->ring;
	used = ring_unread(old);
	first = (old->index - used) & old->mask;
	if (q.cqe < used)
		return -EINVAL;
	ring = make_ring(c->client, q.cqe);
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < used; i++)
		ring_produce(
		    ring,
		    old->shared->data +
			((size_t)((first + i) & old->mask) << old->shift),
		    sizeof(struct ib_uverbs_wc));
	ring_tell(ring, SHIM_RING_ARM, ring_asked(old, SHIM_RING_ARM));
	ring_tell_untold(ring, cq->untold);
	cq->ring = ring;
	object_ring_drop(c->client, old);
	r.cqe = ring_capacity(ring);
	driver.mi = map_info(ring);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_destroy_cq(struct command *c)
{
	struct ib_uverbs_destroy_cq q;
	struct ib_uverbs_destroy_cq_resp r = {0};
	struct cq *cq;
	uint32_t unread;

	memcpy(&q, c->in, sizeof(q));
	cq = object_find(c->client, q.cq_handle, OBJECT_CQ);
	if (!cq)
		return -EINVAL;
	if (atomic_load(&cq->o.refs))
		return -EBUSY;
	if (cq->channel && cq->comp_sent) {
		unread = notifier_withdraw(&cq->channel->notifier,
					   cq->o.user_handle);
		r.comp_events_reported =
		    cq->comp_sent > unread ? cq->comp_sent - unread : 0;
	}
	r.async_events_reported = event_reported(&cq->o);
	object_destroy(&cq->o);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

/* The way of a program whose shim does not know the ring, or has seen that
 * completions lie in it. */
int uverbs_req_notify_cq(struct command *c)
{
	struct ib_uverbs_req_notify_cq q;
	struct cq *cq;

	memcpy(&q, c->in, sizeof(q));
	cq = object_find(c->client, q.cq_handle, OBJECT_CQ);
	if (!cq)
		return -EINVAL;
	pthread_mutex_lock(&cq->lock);
	if (!q.solicited_only)
		ring_tell(cq->ring, SHIM_RING_ARM, SHIM_ARMED_ANY);
	else if (ring_asked(cq->ring, SHIM_RING_ARM) == SHIM_NOT_ARMED)
		ring_tell(cq->ring, SHIM_RING_ARM, SHIM_ARMED_SOLICITED);
	if (is_overdue(cq))
		notify(cq);
	pthread_mutex_unlock(&cq->lock);
	return 0;
}
