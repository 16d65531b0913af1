/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_connect: what programs ask for, and what happens when time passes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm_id.h"
#include "ofed_core/verbs/qp.h"

#define ACK_TIMEOUT  19 /* 4.096 us * 2^19 = 2.1 s, as Linux */
#define TARGET_DELAY 15
#define TIMEWAIT_NS  (2000 * NS_PER_MS)

static uint32_t random_psn(void)
{
	uint32_t v = 0;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) < 0)
		v = (uint32_t)clock_ns();
	return v & PSN_MASK;
}

/* 06 TCP, 11 UDP; then the port (annex A11.4). */
static uint64_t service_id(uint16_t space, uint16_t port)
{
	return CM_SERVICE_BASE | (uint64_t)(space & 0xff) << 16 | port;
}

static int add_private(struct cm_message *m, size_t at, const void *data,
		       size_t bytes)
{
	if (at + bytes > cm_private_room(m->kind))
		return -EINVAL;
	if (bytes)
		memcpy(m->private_data + at, data, bytes);
	m->private_bytes = at + bytes;
	return 0;
}

static void add_ip_header(const struct cm_id *id, struct cm_message *m)
{
	struct cm_ip_header h = {.is_ip6 = !id->dest.is_ip4,
				 .source_port = id->source.port};

	memcpy(h.source, id->source.ip, 16);
	memcpy(h.dest, id->dest.ip, 16);
	cm_ip_encode(&h, m->private_data);
}

static void build_req(struct cm_id *id, const struct rdma_ucm_conn_param *p)
{
	struct cm_message *m = &id->sent;

	*m = (struct cm_message){
	    .kind = CM_REQ,
	    .transaction = (uint64_t)id->local_id << 32 | id->local_id,
	    .local_id = id->local_id,
	    .service_id = service_id(id->space, id->dest.port),
	    .guid = be64toh(id->device->node_guid),
	    .qpn = p->qp_num,
	    .psn = random_psn(),
	    .responder_resources = p->responder_resources,
	    .initiator_depth = p->initiator_depth,
	    .remote_timeout = (uint8_t)param(PARAMETER_CMA_RESPONSE_TIMEOUT),
	    .local_timeout = (uint8_t)param(PARAMETER_CMA_RESPONSE_TIMEOUT),
	    .retry_count = p->retry_count & 7,
	    .rnr_retry = p->rnr_retry_count & 7,
	    .max_retries = (uint8_t)param(PARAMETER_CM_CONNECT_MAX_RETRY),
	    .mtu = (uint8_t)device_mtu(id->device),
	    .has_srq = p->srq,
	    .flow_label = id->path.flow_label,
	    .traffic_class = id->path.traffic_class,
	    .hop_limit = id->path.hop_limit,
	    .sl = id->path.sl,
	    .ack_timeout = id->ack_timeout ? id->ack_timeout : ACK_TIMEOUT,
	};
	memcpy(m->local_gid, id->path.sgid, 16);
	memcpy(m->remote_gid, id->path.dgid, 16);
}

static void build_sidr_req(struct cm_id *id)
{
	id->sent = (struct cm_message){
	    .kind = CM_SIDR_REQ,
	    .transaction = (uint64_t)id->local_id << 32 | id->local_id,
	    .local_id = id->local_id,
	    .service_id = service_id(id->space, id->dest.port),
	};
}

int cm_connect(struct cm_id *id, const struct rdma_ucm_conn_param *p)
{
	bool is_datagram = id->space != RDMA_PS_TCP;
	int rc;

	if (id->state != CM_ROUTE_RESOLVED)
		return -EINVAL;
	if (is_datagram)
		build_sidr_req(id);
	else
		build_req(id, p);
	add_ip_header(id, &id->sent);
	rc = add_private(&id->sent, CM_IP_HEADER_BYTES, p->private_data,
			 p->private_data_len);
	if (rc < 0)
		return rc;
	id->qpn = p->qp_num;
	id->receive_psn = id->sent.psn;
	id->responder_resources = p->responder_resources;
	id->initiator_depth = p->initiator_depth;
	id->retry_count = p->retry_count & 7;
	id->has_srq = p->srq;
	id->mtu = (uint8_t)device_mtu(id->device);
	id->transaction = id->sent.transaction;
	id->state = is_datagram ? CM_SIDR_SENT : CM_REQ_SENT;
	cm_send_repeated(id, (unsigned)param(PARAMETER_CM_CONNECT_MAX_RETRY),
			 (uint64_t)param(PARAMETER_CM_CONNECT_TIMEOUT) *
			     NS_PER_MS);
	return 0;
}

static int accept_datagram(struct cm_id *id,
			   const struct rdma_ucm_conn_param *p)
{
	struct cm_message *m = &id->sent;
	int rc;

	*m = (struct cm_message){
	    .kind = CM_SIDR_REP,
	    .transaction = id->transaction,
	    .local_id = id->remote_id,
	    .status = CM_SIDR_OK,
	    .qpn = p->qp_num,
	    .qkey = p->qkey ? p->qkey : CM_UDP_QKEY,
	    .service_id = service_id(id->space, id->source.port),
	};
	rc = add_private(m, 0, p->private_data, p->private_data_len);
	if (rc < 0)
		return rc;
	id->state = CM_SIDR_DONE;
	cm_send(&id->path, m);
	return 0;
}

static int accept_connection(struct cm_id *id,
			     const struct rdma_ucm_conn_param *p)
{
	struct cm_message *m = &id->sent;
	int rc;

	*m = (struct cm_message){
	    .kind = CM_REP,
	    .transaction = id->transaction,
	    .local_id = id->local_id,
	    .remote_id = id->remote_id,
	    .qpn = p->qp_num,
	    .psn = id->receive_psn,
	    .responder_resources = p->responder_resources,
	    .initiator_depth = p->initiator_depth,
	    .ack_delay = TARGET_DELAY,
	    .rnr_retry = p->rnr_retry_count & 7,
	    .has_srq = p->srq,
	    .guid = be64toh(id->device->node_guid),
	};
	rc = add_private(m, 0, p->private_data, p->private_data_len);
	if (rc < 0)
		return rc;
	id->qpn = p->qp_num;
	id->responder_resources = p->responder_resources;
	id->initiator_depth = p->initiator_depth;
	id->has_srq = p->srq;
	id->state = CM_REP_SENT;
	cm_send_repeated(id, id->max_retries, id->response_ns);
	return 0;
}

static void send_rtu(struct cm_id *id)
{
	id->sent = (struct cm_message){.kind = CM_RTU,
				       .transaction = id->transaction,
				       .local_id = id->local_id,
				       .remote_id = id->remote_id};
	cm_send(&id->path, &id->sent);
}

int cm_accept(struct cm_id *id, const struct rdma_ucm_conn_param *p)
{
	cm_id_answered(id);
	switch (id->state) {
	case CM_REQ_RECEIVED:
		return accept_connection(id, p);
	case CM_SIDR_RECEIVED:
		return accept_datagram(id, p);
	case CM_REP_RECEIVED:
		id->state = CM_ESTABLISHED;
		send_rtu(id);
		return 0;
	default:
		return -EINVAL;
	}
}

void cm_established(struct cm_id *id)
{
	if (id->state != CM_REP_SENT)
		return;
	cm_send_answered(id);
	id->state = CM_ESTABLISHED;
	cm_event_simple(id, CM_EVENT_ESTABLISHED, 0);
}

int cm_reject(struct cm_id *id, const void *data, size_t bytes, uint8_t reason)
{
	struct cm_message m = {.kind = CM_REJ,
			       .transaction = id->transaction,
			       .local_id = id->local_id,
			       .remote_id = id->remote_id,
			       .reason = reason};
	int rc;

	switch (id->state) {
	case CM_SIDR_RECEIVED:
		m.kind = CM_SIDR_REP;
		m.local_id = id->remote_id;
		m.status = CM_SIDR_REJECTED;
		break;
	case CM_REQ_RECEIVED:
		m.about = 0;
		break;
	case CM_REP_RECEIVED:
		m.about = 1;
		break;
	case CM_REQ_SENT:
	case CM_REP_SENT:
		m.about = 2;
		break;
	default:
		return -EINVAL;
	}
	rc = add_private(&m, 0, data, bytes);
	if (rc < 0)
		return rc;
	cm_send_answered(id);
	id->state = CM_CLOSED;
	cm_send(&id->path, &m);
	return 0;
}

void cm_timewait(struct cm_id *id)
{
	cm_send_answered(id);
	id->state = CM_TIMEWAIT;
	timer_set(&id->timer, clock_ns() + TIMEWAIT_NS);
}

int cm_disconnect(struct cm_id *id)
{
	if (id->state == CM_TIMEWAIT || id->state == CM_DREQ_SENT)
		return 0;
	if (id->state != CM_ESTABLISHED && id->state != CM_REP_SENT)
		return -EINVAL;
	id->sent = (struct cm_message){
	    .kind = CM_DREQ,
	    .transaction = (uint64_t)id->local_id << 32 | id->remote_id,
	    .local_id = id->local_id,
	    .remote_id = id->remote_id,
	    .qpn = id->remote_qpn};
	id->state = CM_DREQ_SENT;
	cm_send_repeated(id, (unsigned)param(PARAMETER_CM_DISCONNECT_MAX_RETRY),
			 (uint64_t)param(PARAMETER_CM_DISCONNECT_TIMEOUT) *
			     NS_PER_MS);
	return 0;
}

static void give_up(struct cm_id *id)
{
	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REP_SENT:
		cm_reject(id, NULL, 0, CM_REASON_TIMEOUT);
		cm_event_simple(id, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_SIDR_SENT:
		cm_send_answered(id);
		id->state = CM_CLOSED;
		cm_event_simple(id, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_DREQ_SENT:
		cm_event_simple(id, CM_EVENT_DISCONNECTED, 0);
		cm_timewait(id);
		break;
	default:
		break;
	}
}

void cm_timer(struct timer *t)
{
	struct cm_id *id =
	    (struct cm_id *)((char *)t - offsetof(struct cm_id, timer));
	bool waits;

	pthread_mutex_lock(&cm_lock);
	waits = id->state == CM_REQ_SENT || id->state == CM_REP_SENT ||
		id->state == CM_SIDR_SENT || id->state == CM_DREQ_SENT;
	if (id->state == CM_TIMEWAIT) {
		id->state = CM_CLOSED;
		cm_event_simple(id, CM_EVENT_TIMEWAIT_EXIT, 0);
	} else if (waits && id->retries_left) {
		cm_send_again(id);
	} else if (waits) {
		give_up(id);
	}
	if (!id->channel && id->state != CM_DREQ_SENT)
		cm_id_release(id);
	pthread_mutex_unlock(&cm_lock);
}

void cm_fill_ah(const struct address *a, struct ib_uverbs_ah_attr *out)
{
	*out = (struct ib_uverbs_ah_attr){
	    .grh = {.flow_label = a->flow_label,
		    .sgid_index = a->sgid_index,
		    .hop_limit = a->hop_limit,
		    .traffic_class = a->traffic_class},
	    .sl = a->sl,
	    .is_global = 1,
	    .port_num = 1,
	};
	memcpy(out->grh.dgid, a->dgid, 16);
}

void cm_fill_ud(const struct cm_id *id, struct rdma_ucm_ud_param *ud)
{
	ud->qp_num = id->remote_qpn;
	ud->qkey = id->remote_qkey;
	cm_fill_ah(&id->path, &ud->ah_attr);
}
