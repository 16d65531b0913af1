/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucma_qp_attr: queue pair attributes that follow from a connection, and
 * multicast membership.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/cm/cm_id.h"
#include "ofed_core/ucma/ucma.h"
#include "ofed_core/verbs/qp_attr.h"

#define ACK_TIMEOUT 19
#define MCAST_QPN   0xffffff

static bool is_connecting(const struct cm_id *id)
{
	switch (id->state) {
	case CM_REQ_RECEIVED:
	case CM_REP_RECEIVED:
	case CM_REP_SENT:
	case CM_ESTABLISHED:
		return true;
	default:
		return false;
	}
}

static void attr_init(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	a->pkey_index = 0;
	a->port_num = 1;
	a->qp_attr_mask = ATTR_STATE | ATTR_PKEY_INDEX | ATTR_PORT;
	if (id->space != RDMA_PS_TCP) {
		a->qkey = CM_UDP_QKEY;
		a->qp_attr_mask |= ATTR_QKEY;
		return;
	}
	a->qp_attr_mask |= ATTR_ACCESS_FLAGS;
	if (!is_connecting(id))
		return;
	a->qp_access_flags = ACCESS_REMOTE_WRITE;
	if (id->responder_resources)
		a->qp_access_flags |= ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC;
}

static int attr_rtr(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	if (!is_connecting(id))
		return -EINVAL;
	a->qp_attr_mask = ATTR_STATE | ATTR_AV | ATTR_PATH_MTU | ATTR_DEST_QPN |
			  ATTR_RQ_PSN | ATTR_MAX_DEST_RD_ATOMIC |
			  ATTR_MIN_RNR_TIMER;
	cm_fill_ah(&id->path, &a->ah_attr);
	a->path_mtu = id->mtu;
	a->dest_qp_num = id->remote_qpn;
	a->rq_psn = id->receive_psn;
	a->max_dest_rd_atomic = id->responder_resources;
	a->min_rnr_timer = 0;
	return 0;
}

static int attr_rts(const struct cm_id *id, struct ib_uverbs_qp_attr *a)
{
	if (!is_connecting(id))
		return -EINVAL;
	a->qp_attr_mask = ATTR_STATE | ATTR_SQ_PSN | ATTR_RETRY_CNT |
			  ATTR_RNR_RETRY | ATTR_MAX_QP_RD_ATOMIC | ATTR_TIMEOUT;
	a->sq_psn = id->send_psn;
	a->retry_cnt = id->retry_count;
	a->rnr_retry = id->rnr_retry;
	a->max_rd_atomic = id->initiator_depth;
	a->timeout = id->ack_timeout ? id->ack_timeout : ACK_TIMEOUT;
	return 0;
}

int ucma_init_qp_attr(struct command *c)
{
	const struct rdma_ucm_init_qp_attr *q = c->in;
	struct ib_uverbs_qp_attr a = {.qp_state = (uint8_t)q->qp_state};
	const struct cm_id *id = c->object;
	int rc = 0;

	if (q->qp_state == QP_INIT)
		attr_init(id, &a);
	else if (q->qp_state == QP_RTR)
		rc = attr_rtr(id, &a);
	else if (q->qp_state == QP_RTS)
		rc = attr_rts(id, &a);
	else
		rc = -EINVAL;
	return rc < 0 ? rc : ucma_answer(c, &a, sizeof(a));
}

/* ---- Multicast ---- */

static void post_joined(struct cm_id *id, struct cm_mcast *m)
{
	struct cm_event *e = cm_event_new(id, CM_EVENT_MULTICAST_JOIN, 0);
	struct address group = id->path;

	if (!e)
		return;
	memcpy(group.dgid, m->gid, 16);
	group.hop_limit = group.hop_limit ? group.hop_limit : 1;
	e->mcast = m;
	e->resp.uid = m->uid;
	e->resp.id = m->number;
	e->resp.param.ud.qp_num = MCAST_QPN;
	e->resp.param.ud.qkey = CM_UDP_QKEY;
	cm_fill_ah(&group, &e->resp.param.ud.ah_attr);
	cm_event_post(e);
}

/* The source a group is sent from: the bound one, of the group's family. */
static int find_path(struct cm_id *id)
{
	unsigned index;
	struct device *d;

	if (id->path.device)
		return 0;
	d = device_by_gid(id->source.ip, &index);
	if (!d)
		return -ENODEV;
	cm_path_init(id, d, index, 1);
	return 0;
}

int ucma_join_ip_mcast(struct command *c)
{
	const struct rdma_ucm_join_ip_mcast *q = c->in;
	struct rdma_ucm_create_id_resp r;
	struct cm_end group;
	struct cm_mcast *m;
	struct cm_id *id = c->object;
	int64_t number;
	int rc;

	if (id->state == CM_IDLE || id->state == CM_LISTEN)
		return -EINVAL;
	rc = cm_end_from_sockaddr(&group, &q->addr);
	if (rc == 0 && !gid_is_multicast(group.ip))
		rc = -EINVAL;
	if (rc == 0)
		rc = find_path(id);
	if (rc < 0)
		return rc;
	m = calloc(1, sizeof(*m));
	number = m ? cm_number_add(m) : -ENOMEM;
	if (number < 0) {
		free(m);
		return (int)number;
	}
	m->number = (uint32_t)number;
	m->uid = q->uid;
	memcpy(m->gid, group.ip, 16);
	if (id->path.is_v1 && group.is_ip4) {
		/* Version 1 has its own form: ff0e::ffff:a.b.c.d. */
		m->gid[0] = 0xff;
		m->gid[1] = 0x0e;
	}
	m->next = id->groups;
	id->groups = m;
	post_joined(id, m);
	r.id = m->number;
	return ucma_answer(c, &r, sizeof(r));
}

int ucma_leave_mcast(struct command *c)
{
	const struct rdma_ucm_destroy_id *q = c->in;
	struct rdma_ucm_destroy_id_resp r;

	for (struct cm_id *id = cm_ids; id; id = id->next) {
		struct cm_mcast **p = &id->groups;

		while (*p && (*p)->number != q->id)
			p = &(*p)->next;
		if (!*p || id->channel != c->client->cm)
			continue;
		struct cm_mcast *m = *p;

		*p = m->next;
		cm_event_drop_mcast(id->channel, m);
		cm_number_remove(m->number);
		r.events_reported = m->events_fetched;
		free(m);
		return ucma_answer(c, &r, sizeof(r));
	}
	return -EINVAL;
}
