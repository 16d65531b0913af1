/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mw: memory windows: rights to parts of regions that a program gives and
 * takes back through its send queue (InfiniBand 10.6.7).
 *
 * Type 1 belongs to a protection domain, type 2 (2B) to the queue pair that
 * bound it.
 *
 * Locking: what a bind changes: windows_lock. The rest as all objects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/uverbs/uverbs.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/qp.h"

#define KEY_BYTE 0xffu /* of a key that the program chooses */

static pthread_mutex_t windows_lock = PTHREAD_MUTEX_INITIALIZER;

static struct mw *mw_by_key(uint32_t key)
{
	struct object *o = key_find(key);

	return o && o->type == OBJECT_MW ? (struct mw *)o : NULL;
}

static void unbind(struct mw *mw)
{
	if (mw->mr)
		mw->mr->windows--;
	mw->mr = NULL;
	mw->qp = NULL;
	mw->length = 0;
}

int mw_resolve(const struct mw *mw, const struct qp *qp, uint32_t key,
	       struct remote_range *range)
{
	const uint64_t at = range->address - mw->address;
	int rc = -EACCES;

	pthread_mutex_lock(&windows_lock);
	if (mw->key == key && mw->mr && mw->pd == qp->pd &&
	    (!mw->qp || mw->qp == qp) && (mw->access & range->access) &&
	    range->address >= mw->address && range->length <= mw->length &&
	    at <= mw->length - range->length) {
		range->mr = mw->mr;
		rc = 0;
	}
	pthread_mutex_unlock(&windows_lock);
	return rc;
}

/* The region must allow windows, and what the window is to allow. */
static bool may_bind(const struct mr *mr, const struct qp *qp,
		     const struct mw_bind *b)
{
	/* Programs also give the local right, which means nothing here. */
	const uint32_t known = ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ |
			       ACCESS_REMOTE_ATOMIC | ACCESS_LOCAL_WRITE;

	if (!mr || mr->pd != qp->pd || !(mr->access & ACCESS_MW_BIND) ||
	    (b->access & ~known))
		return false;
	if ((b->access & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC)) &&
	    !(mr->access & ACCESS_LOCAL_WRITE))
		return false;
	return b->address >= mr->iova && b->length <= mr->length &&
	       b->address - mr->iova <= mr->length - b->length;
}

static int bind_type_1(struct mw *mw, struct mr *mr, const struct qp *qp,
		       const struct mw_bind *b)
{
	/* Without length it is a window onto nothing. */
	if (b->length && !may_bind(mr, qp, b))
		return -EINVAL;
	unbind(mw);
	if (b->length)
		mw->mr = mr;
	return 0;
}

static int bind_type_2(struct mw *mw, struct mr *mr, struct qp *qp,
		       const struct mw_bind *b)
{
	/* It must be invalidated first, and its key must change. */
	if (mw->mr || !b->length || !may_bind(mr, qp, b) ||
	    (mw->key & KEY_BYTE) == (b->new_rkey & KEY_BYTE))
		return -EINVAL;
	mw->mr = mr;
	mw->qp = qp;
	return 0;
}

int mw_bind(struct qp *qp, const struct mw_bind *b)
{
	struct mw *mw = mw_by_key(b->rkey);
	struct mr *mr = mr_by_key(b->lkey);
	int rc = -EINVAL;

	pthread_mutex_lock(&windows_lock);
	if (mw && mw->key == b->rkey && mw->pd == qp->pd)
		rc = mw->is_type_2 ? bind_type_2(mw, mr, qp, b)
				   : bind_type_1(mw, mr, qp, b);
	if (rc == 0) {
		mw->key = (mw->key & ~KEY_BYTE) | (b->new_rkey & KEY_BYTE);
		mw->address = b->address;
		mw->length = b->length;
		mw->access = b->access;
		if (mw->mr)
			mw->mr->windows++;
	}
	pthread_mutex_unlock(&windows_lock);
	return rc;
}

int mw_invalidate(struct qp *qp, uint32_t rkey)
{
	struct mw *mw = mw_by_key(rkey);
	int rc = -EINVAL;

	pthread_mutex_lock(&windows_lock);
	if (mw && mw->key == rkey && mw->is_type_2 && mw->pd == qp->pd &&
	    (!mw->qp || mw->qp == qp)) {
		unbind(mw);
		rc = 0;
	}
	pthread_mutex_unlock(&windows_lock);
	return rc;
}

void mw_forget(const struct qp *qp)
{
	struct client *c = qp->o.client;

	for (uint32_t i = 0; i < c->objects.room; i++) {
		struct mw *mw = object_find(c, i, OBJECT_MW);

		if (mw && mw->qp == qp)
			unbind(mw);
	}
}

void mw_destroy(struct mw *mw)
{
	unbind(mw);
	key_remove(mw->o.client, mw->key);
	object_drop(&mw->pd->o);
	free(mw);
}

int uverbs_alloc_mw(struct command *c)
{
	struct ib_uverbs_alloc_mw q;
	struct ib_uverbs_alloc_mw_resp r = {0};
	struct pd *pd;
	struct mw *mw;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	pd = object_find(c->client, q.pd_handle, OBJECT_PD);
	if (!pd || (q.mw_type != 1 && q.mw_type != 2))
		return -EINVAL;
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	rc = key_add(c->client, &mw->o, &mw->key);
	if (rc == 0) {
		rc = object_add(c->client, &mw->o, OBJECT_MW);
		if (rc < 0)
			key_remove(c->client, mw->key);
	}
	if (rc < 0) {
		free(mw);
		return rc;
	}
	mw->pd = pd;
	mw->is_type_2 = q.mw_type == 2;
	object_hold(&pd->o);
	r.mw_handle = mw->o.handle;
	r.rkey = mw->key;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_dealloc_mw(struct command *c)
{
	struct ib_uverbs_dealloc_mw q;
	struct mw *mw;

	memcpy(&q, c->in, sizeof(q));
	mw = object_find(c->client, q.mw_handle, OBJECT_MW);
	if (!mw)
		return -EINVAL;
	object_destroy(&mw->o);
	return 0;
}
