/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cq: completion queues.
 */
#ifndef OFED_CORE_CQ_H
#define OFED_CORE_CQ_H

#include "ofed_core/verbs/verbs.h"

/* A queue that tells the channel, or nobody (NULL). -errno. */
int cq_create(struct client *c, uint32_t entries, struct channel *ch,
	      struct cq **out);
/*
 * A larger or smaller ring with the completions that are unread. -EINVAL when
 * those are more.
 */
int cq_resize(struct cq *cq, uint32_t entries);
/*
 * Adds a completion; false when the queue overflowed, which its program is told
 * once.
 */
bool cq_push(struct cq *cq, const struct ib_uverbs_wc *wc, bool is_solicited);
/* The next completion makes an event; with solicited_only a solicited one. */
void cq_arm(struct cq *cq, bool solicited_only);

#endif
