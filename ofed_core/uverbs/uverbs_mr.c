/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_mr: the commands on memory regions and memory windows.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/object.h"

int uverbs_reg_mr(struct command *c)
{
	struct ib_uverbs_reg_mr q;
	struct ib_uverbs_reg_mr_resp r = {0};
	struct pd *pd;
	struct mr *mr;
	int rc;

	memcpy(&q, c->in, sizeof(q));
	pd = object_find(c->client, q.pd_handle, OBJECT_PD);
	rc = pd ? mr_create(pd, c->pid, &q, &mr) : -EINVAL;
	if (rc < 0)
		return rc;
	r.mr_handle = mr->o.handle;
	r.lkey = r.rkey = mr->key;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_dereg_mr(struct command *c)
{
	struct ib_uverbs_dereg_mr q;
	struct mr *mr;

	memcpy(&q, c->in, sizeof(q));
	mr = object_find(c->client, q.mr_handle, OBJECT_MR);
	/* Also with a window bound to it, as in the kernel. */
	if (!mr || mr->windows)
		return -EINVAL;
	object_destroy(&mr->o);
	return 0;
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
	rc = mw_create(pd, q.mw_type == 2, &mw);
	if (rc < 0)
		return rc;
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
