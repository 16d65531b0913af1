/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mw: memory windows: binding, checking, ending.
 *
 * Locking: what a bind changes: windows_lock.
 */
#include "ofed_core/verbs/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/key.h"
#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp.h"

#define KEY_BYTE 0xffu /* the part that the program chooses */

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
	return mr_has(mr, b->address, b->length);
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

static void mw_destroy(struct object *o)
{
	struct mw *mw = (struct mw *)o;

	unbind(mw);
	key_remove(mw->o.client, mw->key);
	object_drop(&mw->pd->o);
	free(mw);
}

int mw_create(struct pd *pd, bool is_type_2, struct mw **out)
{
	struct client *c = pd->o.client;
	struct mw *mw = calloc(1, sizeof(*mw));
	int rc;

	if (!mw)
		return -ENOMEM;
	rc = key_add(c, &mw->o, &mw->key);
	if (rc == 0) {
		rc = object_add(c, &mw->o, OBJECT_MW, mw_destroy);
		if (rc < 0)
			key_remove(c, mw->key);
	}
	if (rc < 0) {
		free(mw);
		return rc;
	}
	mw->pd = pd;
	mw->is_type_2 = is_type_2;
	object_hold(&pd->o);
	*out = mw;
	return 0;
}
