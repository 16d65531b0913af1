/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucma_commands: the rdma_ucm commands on ids.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm_id.h"
#include "ofed_core/pure/packet.h"
#include "ofed_core/ucma/ucma.h"

#define BACKLOG_MAX 1024

int ucma_create_id(struct command *c)
{
	const struct rdma_ucm_create_id *q = c->in;
	struct rdma_ucm_create_id_resp r;
	struct cm_id *id;
	int rc;

	if (q->ps != RDMA_PS_TCP && q->ps != RDMA_PS_UDP &&
	    q->ps != RDMA_PS_IPOIB)
		return -EOPNOTSUPP;
	rc = cm_id_create(&id, c->client->cm, q->uid, q->ps);
	if (rc < 0)
		return rc;
	r.id = id->number;
	return ucma_answer(c, &r, sizeof(r));
}

int ucma_destroy_id(struct command *c)
{
	struct rdma_ucm_destroy_id_resp r;
	struct cm_id *id = c->object;

	r.events_reported = id->events_fetched;
	cm_id_destroy(id);
	return ucma_answer(c, &r, sizeof(r));
}

int ucma_bind_ip(struct command *c)
{
	const struct rdma_ucm_bind_ip *q = c->in;
	struct cm_end end;
	int rc = cm_end_from_sockaddr(&end, &q->addr);

	return rc < 0 ? rc : cm_bind(c->object, &end);
}

int ucma_resolve_ip(struct command *c)
{
	const struct rdma_ucm_resolve_ip *q = c->in;
	struct cm_end from;
	struct cm_id *id = c->object;
	int rc;

	if (id->state != CM_IDLE && id->state != CM_BOUND)
		return -EINVAL;
	rc = cm_end_from_sockaddr(&id->dest, &q->dst_addr);
	if (rc == 0 && id->state == CM_IDLE && q->src_addr.sin6_family) {
		rc = cm_end_from_sockaddr(&from, &q->src_addr);
		if (rc == 0 && (from.port || !cm_ip_is_any(from.ip)))
			rc = cm_bind(id, &from);
	}
	if (rc < 0)
		return rc;
	rc = cm_resolve(id);
	if (rc == 0)
		id->state = CM_ADDR_RESOLVED;
	cm_event_simple(
	    id, rc == 0 ? CM_EVENT_ADDR_RESOLVED : CM_EVENT_ADDR_ERROR, rc);
	return 0;
}

int ucma_resolve_route(struct command *c)
{
	struct cm_id *id = c->object;

	if (id->state != CM_ADDR_RESOLVED)
		return -EINVAL;
	/* RoCE has no subnet manager to ask: the address was the path. */
	id->state = CM_ROUTE_RESOLVED;
	cm_event_simple(id, CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

static void fill_path(const struct cm_id *id, struct ib_user_path_rec *p)
{
	memcpy(p->sgid, id->path.sgid, 16);
	memcpy(p->dgid, id->path.dgid, 16);
	p->flow_label = htobe32(id->path.flow_label);
	p->reversible = 1;
	p->mtu = device_mtu(id->device);
	p->pkey = htobe16(PACKET_PKEY);
	p->hop_limit = id->path.hop_limit;
	p->traffic_class = id->path.traffic_class;
	p->numb_path = 1;
	p->sl = id->path.sl;
	p->mtu_selector = 2; /* exactly */
	p->rate_selector = 2;
	p->packet_life_time_selector = 2;
	p->packet_life_time = 18;
}

int ucma_query_route(struct command *c)
{
	struct rdma_ucm_query_route_resp r = {0};
	struct cm_id *id = c->object;

	if (id->state != CM_IDLE)
		cm_end_to_sockaddr(&id->source, &r.src_addr);
	if (id->dest.port || !cm_ip_is_any(id->dest.ip))
		cm_end_to_sockaddr(&id->dest, &r.dst_addr);
	r.ibdev_index = UINT32_MAX;
	if (id->device) {
		r.node_guid = id->device->node_guid;
		r.port_num = 1;
		r.ibdev_index = SHIM_DEVICE_INDEX(id->device->uverbs);
		if (id->path.device && id->state != CM_ADDR_RESOLVED) {
			r.num_paths = 1;
			fill_path(id, &r.ib_route[0]);
		} else if (id->path.device) {
			memcpy(r.ib_route[0].sgid, id->path.sgid, 16);
			memcpy(r.ib_route[0].dgid, id->path.dgid, 16);
			r.ib_route[0].pkey = htobe16(PACKET_PKEY);
		}
	}
	return ucma_answer(c, &r, sizeof(r));
}

int ucma_connect(struct command *c)
{
	const struct rdma_ucm_connect *q = c->in;

	return q->conn_param.valid ? cm_connect(c->object, &q->conn_param)
				   : -EINVAL;
}

int ucma_listen(struct command *c)
{
	const struct rdma_ucm_listen *q = c->in;
	struct cm_end any = {.is_ip4 = true};
	struct cm_id *id = c->object;
	int rc = 0;

	if (id->state == CM_IDLE) {
		gid_from_ip4(any.ip, 0);
		rc = cm_bind(id, &any);
	}
	if (rc < 0)
		return rc;
	if (id->state != CM_BOUND)
		return -EINVAL;
	/* A shared port has one listener. */
	if (cm_find_listener(id->space, &id->source))
		return -EADDRINUSE;
	id->backlog =
	    q->backlog && q->backlog < BACKLOG_MAX ? q->backlog : BACKLOG_MAX;
	id->state = CM_LISTEN;
	cm_release_requests(id->source.port);
	return 0;
}

int ucma_accept(struct command *c)
{
	const struct rdma_ucm_accept *q = c->in;
	struct cm_id *id = c->object;
	int rc;

	/* Without parameters it only completes what connect began. */
	if (!q->conn_param.valid && id->state != CM_REP_RECEIVED)
		return -EINVAL;
	rc = cm_accept(id, &q->conn_param);
	if (rc == 0 && q->conn_param.valid)
		id->uid = q->uid;
	return rc;
}

int ucma_reject(struct command *c)
{
	const struct rdma_ucm_reject *q = c->in;

	return cm_reject(c->object, q->private_data, q->private_data_len,
			 q->reason ? q->reason : CM_REASON_CONSUMER);
}

int ucma_disconnect(struct command *c)
{
	return cm_disconnect(c->object);
}

int ucma_notify(struct command *c)
{
	const struct rdma_ucm_notify *q = c->in;

	if (q->event != EVENT_COMM_EST)
		return -EINVAL;
	cm_established(c->object);
	return 0;
}

int ucma_get_event(struct command *c)
{
	struct cm_event *e = cm_event_take(c->client->cm);
	int rc;

	if (!e)
		return -EAGAIN;
	rc = ucma_answer(c, &e->resp, sizeof(e->resp));
	free(e);
	return rc;
}

/* The descriptor came along, because the number means nothing here. */
static struct cm_channel *named_channel(const struct command *c)
{
	for (struct client *k = clients; k; k = k->next)
		if (k->cm && k->inode && k->inode == c->fd_inode &&
		    k->uid == c->client->uid)
			return k->cm;
	return NULL;
}

int ucma_migrate_id(struct command *c)
{
	const struct rdma_ucm_migrate_id *q = c->in;
	struct rdma_ucm_migrate_resp r;
	struct cm_channel *from = named_channel(c);
	struct cm_channel *to = c->client->cm;
	struct cm_id *id;

	id = from ? cm_id_find(from, q->id) : NULL;
	if (!id)
		return -EINVAL;
	if (from != to) {
		cm_event_move(from, to, id);
		id->channel = to;
	}
	r.events_reported = id->events_fetched;
	return ucma_answer(c, &r, sizeof(r));
}

/* The value of an option follows the request (see the shim). */
static int set_flag(const void *value, uint32_t bytes, bool *flag)
{
	int number;

	if (bytes != sizeof(number))
		return -EINVAL;
	memcpy(&number, value, sizeof(number));
	*flag = number;
	return 0;
}

int ucma_set_option(struct command *c)
{
	const struct rdma_ucm_set_option *q = c->in;
	const uint8_t *value = (const void *)(q + 1);
	struct cm_id *id = c->object;

	if (c->in_bytes < sizeof(*q) || q->optlen > c->in_bytes - sizeof(*q))
		return -EINVAL;
	if (q->level != RDMA_OPTION_ID)
		return -EOPNOTSUPP;
	switch (q->optname) {
	case RDMA_OPTION_ID_TOS:
		if (q->optlen != 1)
			return -EINVAL;
		id->tos = *value;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		return set_flag(value, q->optlen, &id->reuse_address);
	case RDMA_OPTION_ID_AFONLY:
		return set_flag(value, q->optlen, &id->v6_only);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (q->optlen != 1 || *value > 31)
			return -EINVAL;
		id->ack_timeout = *value;
		return 0;
	default:
		return -ENOSYS;
	}
}
