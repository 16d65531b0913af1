/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cq: completion queues: made, filled, resized, armed.
 *
 * A completion queue is armed by a store. The core is asked only when
 * completions lie in the queue of which no event told, and then tells at once.
 */
#include "ofed_core/verbs/cq.h"

#include <errno.h>
#include <stdlib.h>

#include "ofed_core/base/shim_protocol.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/object.h"

#define ELEMENT_BYTES 64 /* holds struct ib_uverbs_wc, a power of two */
/*
 * The smallest queue has these. Programs that ask for one entry and use more
 * are used to adapters, which are as generous.
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

static void cq_destroy(struct object *o)
{
	struct cq *cq = (struct cq *)o;

	if (cq->channel)
		channel_drop(cq->channel);
	object_ring_drop(cq->o.client, cq->ring);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
}

int cq_create(struct client *c, uint32_t entries, struct channel *ch,
	      struct cq **out)
{
	struct cq *cq = calloc(1, sizeof(*cq));
	int rc;

	if (!cq)
		return -ENOMEM;
	cq->ring = make_ring(c, entries);
	rc = cq->ring ? object_add(c, &cq->o, OBJECT_CQ, cq_destroy) : -ENOMEM;
	if (rc < 0) {
		object_ring_drop(c, cq->ring);
		free(cq);
		return rc;
	}
	pthread_mutex_init(&cq->lock, NULL);
	cq->channel = ch;
	if (ch)
		object_hold(&ch->o);
	*out = cq;
	return 0;
}

int cq_resize(struct cq *cq, uint32_t entries)
{
	struct ring *old = cq->ring;
	uint32_t used = ring_unread(old);
	uint32_t first = (old->index - used) & old->mask;
	struct ring *ring;

	if (entries < used)
		return -EINVAL;
	ring = make_ring(cq->o.client, entries);
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
	object_ring_drop(cq->o.client, old);
	return 0;
}

void cq_arm(struct cq *cq, bool solicited_only)
{
	pthread_mutex_lock(&cq->lock);
	if (!solicited_only)
		ring_tell(cq->ring, SHIM_RING_ARM, SHIM_ARMED_ANY);
	else if (ring_asked(cq->ring, SHIM_RING_ARM) == SHIM_NOT_ARMED)
		ring_tell(cq->ring, SHIM_RING_ARM, SHIM_ARMED_SOLICITED);
	if (is_overdue(cq))
		notify(cq);
	pthread_mutex_unlock(&cq->lock);
}
