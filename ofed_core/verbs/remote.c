/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * remote: what a peer reaches by a key: a region, or a window onto one.
 */
#include "ofed_core/verbs/remote.h"

#include <errno.h>

#include "ofed_core/verbs/key.h"
#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/qp.h"

int remote_resolve(const struct qp *qp, uint32_t rkey, uint32_t access,
		   uint64_t address, uint64_t length, struct span *out)
{
	struct remote_range range = {address, length, access, NULL};
	const struct object *o;

	/* Key and address of an empty transfer are not checked (C9-88). */
	if (!length) {
		*out = (struct span){.bytes = 0};
		return 0;
	}
	o = key_find(rkey);
	if (o && o->type == OBJECT_MW) {
		if (mw_resolve((const struct mw *)o, qp, rkey, &range) < 0)
			return -EACCES;
	} else {
		range.mr = mr_by_key(rkey);
		if (!range.mr || range.mr->pd != qp->pd ||
		    !(range.mr->access & access) ||
		    !mr_has(range.mr, address, length))
			return -EACCES;
	}
	*out = mr_span(range.mr, address, length);
	return 0;
}
