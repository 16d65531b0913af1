/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_mr: the commands on memory regions and memory windows.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>

#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/object.h"

int uverbs_reg_mr(struct command *c)
{
	struct ib_uverbs_reg_mr_resp r = {0};
	struct mr *mr;
	int rc = mr_create(c->object, c->pid, c->in, &mr);

	if (rc < 0)
		return rc;
	r.mr_handle = mr->o.handle;
	r.lkey = r.rkey = mr->key;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

int uverbs_dereg_mr(struct command *c)
{
	struct mr *mr = c->object;

	/* Also with a window bound to it, as in the kernel. */
	if (mr->windows)
		return -EINVAL;
	object_destroy(&mr->o);
	return 0;
}

int uverbs_alloc_mw(struct command *c)
{
	const struct ib_uverbs_alloc_mw *q = c->in;
	struct ib_uverbs_alloc_mw_resp r = {0};
	struct mw *mw;
	int rc;

	if (q->mw_type != 1 && q->mw_type != 2)
		return -EINVAL;
	rc = mw_create(c->object, q->mw_type == 2, &mw);
	if (rc < 0)
		return rc;
	r.mw_handle = mw->o.handle;
	r.rkey = mw->key;
	return command_answer(c, &r, sizeof(r), NULL, 0);
}
