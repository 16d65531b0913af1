/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mcast: which datagram queue pairs are attached to which multicast groups.
 *
 * Locking: core_lock; changed with it held for writing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "requester.h"
#include "uverbs.h"
#include "wire.h"

struct membership {
	struct membership *next;
	uint8_t gid[16];
	struct qp *qp;
};

static struct membership *memberships;
static unsigned membership_count;

#define MEMBERSHIPS_MAX (MAX_MCAST_GRP * 4)

static unsigned members_of(const uint8_t gid[16])
{
	unsigned n = 0;

	for (struct membership *m = memberships; m; m = m->next)
		n += memcmp(m->gid, gid, 16) == 0;
	return n;
}

int mcast_attach(struct qp *qp, const uint8_t gid[16])
{
	struct membership *m;

	for (m = memberships; m; m = m->next)
		if (m->qp == qp && memcmp(m->gid, gid, 16) == 0)
			return 0;
	if (members_of(gid) >= MAX_MCAST_QP ||
	    membership_count >= MEMBERSHIPS_MAX)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (!members_of(gid))
		wire_mcast(qp->o.client->device, gid, true);
	memcpy(m->gid, gid, 16);
	m->qp = qp;
	m->next = memberships;
	memberships = m;
	membership_count++;
	qp->mcast_count++;
	return 0;
}

static void drop(struct membership **p)
{
	struct membership *m = *p;

	*p = m->next;
	membership_count--;
	m->qp->mcast_count--;
	if (!members_of(m->gid))
		wire_mcast(m->qp->o.client->device, m->gid, false);
	free(m);
}

int mcast_detach(struct qp *qp, const uint8_t gid[16])
{
	for (struct membership **p = &memberships; *p; p = &(*p)->next)
		if ((*p)->qp == qp && memcmp((*p)->gid, gid, 16) == 0) {
			drop(p);
			return 0;
		}
	return -EINVAL;
}

void mcast_forget(struct qp *qp)
{
	struct membership **p = &memberships;

	while (*p) {
		if ((*p)->qp == qp)
			drop(p);
		else
			p = &(*p)->next;
	}
}

void mcast_each(const uint8_t gid[16], void (*fn)(struct qp *qp, void *owner),
		void *owner)
{
	for (struct membership *m = memberships; m; m = m->next)
		if (memcmp(m->gid, gid, 16) == 0)
			fn(m->qp, owner);
}

static struct qp *find_qp(struct command *c, uint32_t handle)
{
	struct qp *qp = object_find(c->client, handle, OBJECT_QP);

	return qp && qp->type == QP_UD ? qp : NULL;
}

int uverbs_attach_mcast(struct command *c)
{
	struct ib_uverbs_attach_mcast q;
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = find_qp(c, q.qp_handle);
	if (!qp || !gid_is_multicast(q.gid))
		return -EINVAL;
	return mcast_attach(qp, q.gid);
}

int uverbs_detach_mcast(struct command *c)
{
	struct ib_uverbs_detach_mcast q;
	struct qp *qp;

	memcpy(&q, c->in, sizeof(q));
	qp = find_qp(c, q.qp_handle);
	return qp ? mcast_detach(qp, q.gid) : -EINVAL;
}
