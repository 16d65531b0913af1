/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_cq: the commands on completion queues.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <string.h>

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

static int create(struct command *c, const struct ib_uverbs_ex_create_cq *q,
		  struct cq **out)
{
	struct channel *ch = NULL;
	int rc = 0;

	if (!q->cqe || q->cqe > MAX_CQE || q->comp_vector >= 1)
		return -EINVAL;
	if (q->comp_channel >= 0)
		rc = find_channel(c, &ch);
	if (rc < 0)
		return rc;
	rc = cq_create(c->client, q->cqe, ch, out);
	if (rc < 0)
		return rc;
	(*out)->o.user_handle = q->user_handle;
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
	driver.mi = ring_info(cq->ring);
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
	driver.mi = ring_info(cq->ring);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

int uverbs_resize_cq(struct command *c)
{
	struct ib_uverbs_resize_cq q;
	struct ib_uverbs_resize_cq_resp r = {0};
	struct rxe_resize_cq_resp driver = {0};
	struct cq *cq;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	cq = object_find(c->client, q.cq_handle, OBJECT_CQ);
	if (!cq || !q.cqe || q.cqe > MAX_CQE)
		return -EINVAL;
	rc = cq_resize(cq, q.cqe);
	if (rc < 0)
		return rc;
	r.cqe = ring_capacity(cq->ring);
	driver.mi = ring_info(cq->ring);
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

/*
 * A program comes this way whose shim does not know the ring, or has seen that
 * completions lie in it.
 */
int uverbs_req_notify_cq(struct command *c)
{
	struct ib_uverbs_req_notify_cq q;
	struct cq *cq;

	memcpy(&q, c->in, sizeof(q));
	cq = object_find(c->client, q.cq_handle, OBJECT_CQ);
	if (!cq)
		return -EINVAL;
	cq_arm(cq, q.solicited_only);
	return 0;
}
