/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_receive: messages of the other side, and what they change.
 *
 * A message counts only when it comes from the address of the id it names.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm.h"
#include "ofed_core/cm/cm_id.h"
#include "ofed_core/verbs/qp.h"

#define MRA_TIMEOUT  24 /* what Linux grants a program that thinks */
#define SERVICE_MASK UINT64_C(0xffffffffff000000)

static void answer_path(const struct arrival *a, struct address *out)
{
	unsigned index = 0;

	*out = (struct address){.is_v1 = a->is_v1, .hop_limit = 64};
	out->device = device_by_gid_version(a->dgid, a->is_v1, &index);
	if (!out->device)
		out->device = device_by_gid(a->dgid, &index);
	out->sgid_index = (uint8_t)index;
	memcpy(out->sgid, a->dgid, 16);
	memcpy(out->dgid, a->sgid, 16);
}

static void answer(const struct arrival *a, const struct cm_message *m)
{
	struct address to;

	answer_path(a, &to);
	cm_send(&to, m);
}

static bool is_from_peer(const struct cm_id *id, const struct arrival *a)
{
	return memcmp(id->path.dgid, a->sgid, 16) == 0 &&
	       memcmp(id->path.sgid, a->dgid, 16) == 0;
}

/* The id a message names as its receiver. */
static struct cm_id *receiver(const struct arrival *a, uint32_t local_id)
{
	struct cm_id *id = cm_id_by_local(local_id);

	return id && is_from_peer(id, a) ? id : NULL;
}

/* Also of one that has ended: what is late then asks for nothing new. */
static struct cm_id *earlier_request(const struct arrival *a,
				     const struct cm_message *m)
{
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->is_passive && id->remote_id == m->local_id &&
		    id->remote_guid == m->guid && is_from_peer(id, a) &&
		    id->state != CM_CLOSED)
			return id;
	return NULL;
}

/* Copies the message's parameters for the program; its private data begins at
 * `skip`. */
static void copy_parameters(struct rdma_ucm_conn_param *c,
			    const struct cm_message *m, size_t skip)
{
	c->private_data_len = (uint8_t)(m->private_bytes - skip);
	memcpy(c->private_data, m->private_data + skip,
	       m->private_bytes - skip);
	c->qp_num = m->qpn;
	c->responder_resources = m->initiator_depth;
	c->initiator_depth = m->responder_resources;
	c->retry_count = m->retry_count;
	c->rnr_retry_count = m->rnr_retry;
	c->srq = m->has_srq;
}

static void copy_datagram_private(struct rdma_ucm_ud_param *u,
				  const struct cm_message *m, size_t skip)
{
	u->private_data_len = (uint8_t)(m->private_bytes - skip);
	memcpy(u->private_data, m->private_data + skip, u->private_data_len);
}

/* ---- Requests ---- */

static uint16_t space_of(const struct cm_message *m)
{
	return (uint16_t)(0x100 | (m->service_id >> 16 & 0xff));
}

static bool read_ends(const struct arrival *a, const struct cm_message *m,
		      struct cm_end *from, struct cm_end *to)
{
	struct cm_ip_header h;

	if ((m->service_id & SERVICE_MASK) != CM_SERVICE_BASE ||
	    cm_ip_decode(&h, m->private_data, m->private_bytes) < 0)
		return false;
	*from = (struct cm_end){.port = h.source_port, .is_ip4 = !h.is_ip6};
	memcpy(from->ip, h.source, 16);
	*to = (struct cm_end){.port = (uint16_t)m->service_id,
			      .is_ip4 = !h.is_ip6};
	memcpy(to->ip, h.dest, 16);
	/* The addresses inside must be those outside. */
	return memcmp(to->ip, a->dgid, 16) == 0;
}

/* The program of this host that sent it, or 0. */
static pid_t program_of(const struct arrival *a, const struct cm_message *m)
{
	const struct cm_id *id = NULL;

	if (device_by_gid(a->sgid, NULL))
		id = cm_id_by_local(m->local_id);
	return id && id->channel ? id->channel->client->pid : 0;
}

/* -EAGAIN: the request waits for one. */
static int find_listener(const struct arrival *a, const struct cm_message *m,
			 struct cm_id **out, struct cm_end *from,
			 struct cm_end *to)
{
	if (!read_ends(a, m, from, to))
		return -ECONNREFUSED;
	*out = cm_find_listener(space_of(m), to);
	if (*out)
		return 0;
	return cm_hold_request(to->port, program_of(a, m), a) ? -EAGAIN
							      : -ECONNREFUSED;
}

static struct cm_id *new_child(const struct arrival *a,
			       const struct cm_message *m,
			       struct cm_id *listener)
{
	struct cm_id *id;

	if (listener->requests >= listener->backlog) {
		log_info("backlog of port %u is full", listener->source.port);
		return NULL;
	}
	if (cm_id_create(&id, listener->channel, 0, listener->space) < 0)
		return NULL;
	id->is_passive = true;
	id->is_unheard = true;
	id->listener = listener;
	listener->requests++;
	answer_path(a, &id->path);
	id->device = id->path.device;
	id->path.traffic_class = m->traffic_class;
	id->path.flow_label = m->flow_label;
	/* A request for datagrams does not tell. */
	id->path.sl =
	    m->kind == CM_REQ ? m->sl : (uint8_t)param(PARAMETER_DEF_PREC2SL);
	id->remote_id = m->local_id;
	id->remote_guid = m->guid;
	id->transaction = m->transaction;
	id->remote_qpn = m->qpn;
	return id;
}

/* This host has the address, but not for the version of RoCE that it came by.
 */
static bool is_other_version(const struct arrival *a)
{
	return !device_by_gid_version(a->dgid, a->is_v1, NULL);
}

static void refuse(const struct arrival *a, const struct cm_message *m)
{
	struct cm_message no_connection = {
	    .kind = CM_REJ,
	    .transaction = m->transaction,
	    .remote_id = m->local_id,
	    .reason =
		is_other_version(a) ? CM_REASON_GID : CM_REASON_SERVICE_ID};
	struct cm_message no_datagrams = {.kind = CM_SIDR_REP,
					  .transaction = m->transaction,
					  .local_id = m->local_id,
					  .status = CM_SIDR_UNSUPPORTED,
					  .service_id = m->service_id};

	answer(a, m->kind == CM_REQ ? &no_connection : &no_datagrams);
}

static void repeat_answer(struct cm_id *id)
{
	struct cm_message m = {.kind = CM_MRA,
			       .transaction = id->transaction,
			       .local_id = id->local_id,
			       .remote_id = id->remote_id,
			       .service_timeout = MRA_TIMEOUT};

	if (id->state == CM_REP_SENT || id->state == CM_SIDR_DONE)
		cm_send(&id->path, &id->sent);
	else if (id->state == CM_REQ_RECEIVED)
		cm_send(&id->path, &m);
}

/*
 * A time-out that the peer asks for; max_timeout is the most it gets, and a
 * millisecond the least: nobody answers faster, and it may be a lie.
 */
static uint64_t timeout_ns(unsigned n)
{
	if (n > (unsigned)param(PARAMETER_MAX_TIMEOUT))
		n = (unsigned)param(PARAMETER_MAX_TIMEOUT);
	return n < 8 ? NS_PER_MS : UINT64_C(4096) << n;
}

static uint8_t at_most(uint8_t v, uint8_t max)
{
	return v < max ? v : max;
}

/*
 * The event of a request, with a new id for what is asked for; to be filled in
 * and posted. NULL: it was asked for before, nobody listens, the request waits
 * for a listener, or there is no room.
 */
static struct cm_event *new_request(const struct arrival *a,
				    const struct cm_message *m,
				    enum cm_state state)
{
	struct cm_id *id = earlier_request(a, m);
	struct cm_id *listener;
	struct cm_event *e;
	struct cm_end from;
	struct cm_end to;
	int rc;

	if (id) {
		repeat_answer(id);
		return NULL;
	}
	rc = find_listener(a, m, &listener, &from, &to);
	if (rc == -ECONNREFUSED)
		refuse(a, m);
	if (rc < 0)
		return NULL;
	id = new_child(a, m, listener);
	if (!id)
		return NULL;
	id->state = state;
	id->source = to;
	id->dest = from;
	e = cm_event_new(listener, CM_EVENT_CONNECT_REQUEST, 0);
	if (!e) {
		cm_id_destroy(id);
		return NULL;
	}
	e->child = id;
	e->resp.id = id->number;
	return e;
}

static void on_req(const struct arrival *a, const struct cm_message *m)
{
	struct cm_event *e = new_request(a, m, CM_REQ_RECEIVED);
	struct cm_id *id;

	if (!e)
		return;
	id = e->child;
	id->send_psn = m->psn;
	id->receive_psn = (uint32_t)clock_ns() & PSN_MASK;
	id->responder_resources = at_most(m->initiator_depth, MAX_RD_ATOM);
	id->initiator_depth = at_most(m->responder_resources, MAX_RD_ATOM);
	id->retry_count = m->retry_count;
	id->rnr_retry = m->rnr_retry;
	id->ack_timeout = m->ack_timeout;
	id->response_ns = timeout_ns(m->local_timeout);
	id->max_retries = m->max_retries;
	id->mtu = at_most(m->mtu, (uint8_t)device_mtu(id->device));
	copy_parameters(&e->resp.param.conn, m, CM_IP_HEADER_BYTES);
	cm_event_post(e);
}

static void on_sidr_req(const struct arrival *a, const struct cm_message *m)
{
	struct cm_event *e = new_request(a, m, CM_SIDR_RECEIVED);

	if (!e)
		return;
	copy_datagram_private(&e->resp.param.ud, m, CM_IP_HEADER_BYTES);
	cm_event_post(e);
}

/* ---- Answers ---- */

static void on_rep(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->remote_id);
	struct cm_event *e;

	if (!id)
		return;
	if (id->state == CM_ESTABLISHED && id->remote_id == m->local_id) {
		cm_send(&id->path, &id->sent); /* our RTU was lost */
		return;
	}
	if (id->state != CM_REQ_SENT)
		return;
	cm_send_answered(id);
	id->state = CM_REP_RECEIVED;
	id->remote_id = m->local_id;
	id->remote_qpn = m->qpn;
	id->send_psn = m->psn;
	id->rnr_retry = m->rnr_retry;
	id->initiator_depth = at_most(
	    m->responder_resources, at_most(id->initiator_depth, MAX_RD_ATOM));
	id->responder_resources = at_most(id->responder_resources, MAX_RD_ATOM);
	e = cm_event_new(id, CM_EVENT_CONNECT_RESPONSE, 0);
	if (!e)
		return;
	copy_parameters(&e->resp.param.conn, m, 0);
	cm_event_post(e);
}

static void say_other_version(const struct cm_id *id)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (id->dest.is_ip4)
		inet_ntop(AF_INET, id->dest.ip + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, id->dest.ip, text, sizeof(text));
	log_warning("%s speaks RoCE version %d, this host version %d; give "
		    "both the same roce_v2_mode (no -r), and load the cores "
		    "again",
		    text, id->path.is_v1 ? 2 : 1, id->path.is_v1 ? 1 : 2);
}

static void on_rej(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->remote_id);
	struct cm_event *e;

	if (!id ||
	    (id->state != CM_REQ_SENT && id->state != CM_REP_SENT &&
	     id->state != CM_REQ_RECEIVED && id->state != CM_REP_RECEIVED))
		return;
	cm_send_answered(id);
	id->state = CM_CLOSED;
	if (m->reason == CM_REASON_GID && !id->is_passive) {
		say_other_version(id);
		cm_event_simple(id, CM_EVENT_UNREACHABLE, -EPROTONOSUPPORT);
		return;
	}
	if (id->is_passive && !id->uid)
		return;
	e = cm_event_new(id, CM_EVENT_REJECTED, m->reason);
	if (!e)
		return;
	copy_parameters(&e->resp.param.conn, m, 0);
	cm_event_post(e);
}

static void disconnected(struct cm_id *id)
{
	cm_event_simple(id, CM_EVENT_DISCONNECTED, 0);
	cm_timewait(id);
	if (!id->channel)
		cm_id_release(id);
}

static void on_dreq(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->remote_id);
	struct cm_message drep = {.kind = CM_DREP,
				  .transaction = m->transaction,
				  .local_id = m->remote_id,
				  .remote_id = m->local_id};

	answer(a, &drep);
	if (!id || id->remote_id != m->local_id)
		return;
	/* The RTU may have been lost on the way to us. */
	if (id->state == CM_REP_SENT)
		cm_established(id);
	if (id->state != CM_ESTABLISHED && id->state != CM_DREQ_SENT)
		return;
	disconnected(id);
}

static void on_drep(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->remote_id);

	if (id && id->state == CM_DREQ_SENT)
		disconnected(id);
}

static void on_rtu(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->remote_id);

	if (id && id->remote_id == m->local_id)
		cm_established(id);
}

/* The other side needs time. */
static void on_mra(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->remote_id);

	if (!id || (id->state != CM_REQ_SENT && id->state != CM_REP_SENT))
		return;
	timer_set(&id->timer, clock_ns() + timeout_ns(m->service_timeout));
}

static void on_sidr_rep(const struct arrival *a, const struct cm_message *m)
{
	struct cm_id *id = receiver(a, m->local_id);
	struct cm_event *e;

	if (!id || id->state != CM_SIDR_SENT)
		return;
	cm_send_answered(id);
	if (m->status != CM_SIDR_OK) {
		id->state = CM_CLOSED;
		cm_event_simple(id, CM_EVENT_UNREACHABLE, m->status);
		return;
	}
	id->state = CM_SIDR_DONE;
	id->remote_qpn = m->qpn;
	id->remote_qkey = m->qkey;
	e = cm_event_new(id, CM_EVENT_ESTABLISHED, 0);
	if (!e)
		return;
	cm_fill_ud(id, &e->resp.param.ud);
	copy_datagram_private(&e->resp.param.ud, m, 0);
	cm_event_post(e);
}

void cm_arrived(const struct arrival *a)
{
	if (a->p.qkey != CM_QKEY || a->p.payload_bytes != CM_MESSAGE_BYTES)
		return;
	pthread_mutex_lock(&cm_lock);
	cm_receive_later(a, a->p.payload);
	pthread_mutex_unlock(&cm_lock);
}

static void receive(const struct arrival *a)
{
	static void (*const handlers[])(const struct arrival *a,
					const struct cm_message *m) = {
	    [CM_REQ] = on_req,           [CM_MRA] = on_mra,
	    [CM_REJ] = on_rej,           [CM_REP] = on_rep,
	    [CM_RTU] = on_rtu,           [CM_DREQ] = on_dreq,
	    [CM_DREP] = on_drep,         [CM_SIDR_REQ] = on_sidr_req,
	    [CM_SIDR_REP] = on_sidr_rep,
	};
	struct cm_message m;

	if (a->p.qkey != CM_QKEY ||
	    cm_decode(&m, a->p.payload, a->p.payload_bytes) < 0)
		return;
	pthread_mutex_lock(&cm_lock);
	if (!is_other_version(a))
		handlers[m.kind](a, &m);
	else if (m.kind == CM_REQ || m.kind == CM_SIDR_REQ)
		refuse(a, &m);
	pthread_mutex_unlock(&cm_lock);
}

void cm_open(void)
{
	cm_send_init(receive);
	cm_hold_request_init();
}
