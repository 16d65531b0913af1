/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_cq: the commands on completion queues.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>

#include "ofed_core/verbs/cq.h"
#include "ofed_core/verbs/object.h"

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

/* The answer has the same fields in either form; base is where they begin. */
static int create(struct command *c, const struct ib_uverbs_ex_create_cq *q,
		  struct ib_uverbs_create_cq_resp *base, const void *answer,
		  size_t answer_bytes)
{
	struct rxe_create_cq_resp driver = {0};
	struct channel *ch = NULL;
	struct cq *cq;
	int rc = 0;

	if (!q->cqe || q->cqe > MAX_CQE || q->comp_vector >= 1)
		return -EINVAL;
	if (q->comp_channel >= 0)
		rc = find_channel(c, &ch);
	if (rc == 0)
		rc = cq_create(c->client, q->cqe, ch, &cq);
	if (rc < 0)
		return rc;
	cq->o.user_handle = q->user_handle;
	base->cq_handle = cq->o.handle;
	base->cqe = ring_capacity(cq->ring);
	driver.mi = ring_info(cq->ring);
	return command_answer(c, answer, answer_bytes, &driver, sizeof(driver));
}

int uverbs_create_cq(struct command *c)
{
	const struct ib_uverbs_create_cq *q = c->in;
	struct ib_uverbs_ex_create_cq ex = {.user_handle = q->user_handle,
					    .cqe = q->cqe,
					    .comp_vector = q->comp_vector,
					    .comp_channel = q->comp_channel};
	struct ib_uverbs_create_cq_resp r = {0};

	return create(c, &ex, &r, &r, sizeof(r));
}

int uverbs_ex_create_cq(struct command *c)
{
	const struct ib_uverbs_ex_create_cq *q = c->in;
	struct ib_uverbs_ex_create_cq_resp r = {.response_length = sizeof(r)};

	if (q->comp_mask || q->flags || q->reserved)
		return -EOPNOTSUPP;
	return create(c, q, &r.base, &r, sizeof(r));
}

int uverbs_resize_cq(struct command *c)
{
	const struct ib_uverbs_resize_cq *q = c->in;
	struct ib_uverbs_resize_cq_resp r = {0};
	struct rxe_resize_cq_resp driver = {0};
	struct cq *cq = c->object;
	int rc;

	if (!q->cqe || q->cqe > MAX_CQE)
		return -EINVAL;
	rc = cq_resize(cq, q->cqe);
	if (rc < 0)
		return rc;
	r.cqe = ring_capacity(cq->ring);
	driver.mi = ring_info(cq->ring);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_destroy_cq(struct command *c)
{
	struct ib_uverbs_destroy_cq_resp r = {0};
	struct cq *cq = c->object;
	uint32_t unread;

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

/*
 * A program comes this way whose shim does not know the ring, or has seen that
 * completions lie in it.
 */
int uverbs_req_notify_cq(struct command *c)
{
	const struct ib_uverbs_req_notify_cq *q = c->in;

	cq_arm(c->object, q->solicited_only);
	return 0;
}
