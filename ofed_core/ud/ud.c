/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ud: datagrams: sending, delivering, multicast.
 *
 * Locking: sending under the sender's sq_lock; delivery takes the receiver's
 *          rq_lock.
 */
#include "ofed_core/ud/ud.h"

#include <string.h>

#include "ofed_core/pure/bytes.h"
#include "ofed_core/rc/requester.h"
#include "ofed_core/ud/mcast.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/verbs/receive.h"
#include "ofed_core/wire/wire.h"

#define GRH_BYTES    40
#define GRH_NEXT_BTH 0x1b
#define MTU_MAX      4096
#define MCAST_QPN    0xffffff
#define REQUESTS_MAX 64

#define OWN_QKEY 0x80000000u /* top bit: the pair's own key is meant */

/*
 * RoCE packets have no service level. Adapters say in its place what kind of
 * header the 40 bytes hold, and UCX goes by that: 0 GRH, 1 IPv6, 2 IPv4.
 */
static uint8_t header_kind(const uint8_t grh[GRH_BYTES])
{
	if (grh[0] >> 4 != 6)
		return 2;
	return grh[6] == GRH_NEXT_BTH ? 0 : 1;
}

void ud_deliver(struct qp *qp, const struct datagram *d)
{
	struct responder *r = &qp->resp;
	struct ib_uverbs_wc wc = {.opcode = WC_RECV, .wc_flags = WC_GRH};
	struct span to[MAX_SGE];
	enum qp_state s;
	int rc;

	pthread_mutex_lock(&qp->rq_lock);
	s = atomic_load(&qp->state);
	if ((s != QP_RTR && s != QP_RTS && s != QP_SQD && s != QP_SQE) ||
	    d->qkey != qp->attr.qkey || receive_take(qp) < 0)
		goto out;
	wc.byte_len = (uint32_t)(GRH_BYTES + d->payload_bytes);
	wc.src_qp = d->source_qpn;
	wc.sl = header_kind(d->grh);
	if (d->has_imm) {
		wc.ex.imm_data = d->imm;
		wc.wc_flags |= WC_WITH_IMM;
	}
	rc = mr_resolve_local(qp->pd, r->recv.sge, r->recv.sge_count,
			      ACCESS_LOCAL_WRITE, to);
	if (r->recv.length < wc.byte_len)
		wc.status = WC_LOC_LEN_ERR;
	else if (rc < 0 ||
		 spans_write(to, r->recv.sge_count, 0, d->grh, GRH_BYTES) < 0 ||
		 spans_write(to, r->recv.sge_count, GRH_BYTES, d->payload,
			     d->payload_bytes) < 0)
		wc.status = WC_LOC_PROT_ERR;
	receive_complete(qp, &wc, d->is_solicited);
	if (wc.status != WC_SUCCESS)
		qp_set_error(qp);
out:
	pthread_mutex_unlock(&qp->rq_lock);
}

/* The 40 bytes a receiver sees: an IPv6 header, or IPv4 in the second half. */
static void build_grh(uint8_t grh[GRH_BYTES], const struct address *a,
		      size_t payload_bytes)
{
	/* UDP where there is one, BTH and DETH, ICRC. */
	size_t above = payload_bytes + (a->is_v1 ? 0 : 8) + 20 + ICRC_BYTES;

	memset(grh, 0, GRH_BYTES);
	if (gid_is_ip4(a->sgid) && !a->is_v1) {
		uint8_t *ip = grh + 20;

		ip[0] = 0x45;
		ip[1] = a->traffic_class;
		put_be16(ip + 2, (uint16_t)(20 + above));
		ip[6] = 0x40;
		ip[8] = a->hop_limit;
		ip[9] = 17;
		memcpy(ip + 12, a->sgid + 12, 4);
		memcpy(ip + 16, a->dgid + 12, 4);
		return;
	}
	put_be32(grh, 0x60000000u | (uint32_t)a->traffic_class << 20 |
			  a->flow_label);
	put_be16(grh + 4, (uint16_t)above);
	grh[6] = a->is_v1 ? GRH_NEXT_BTH : 17;
	grh[7] = a->hop_limit;
	memcpy(grh + 8, a->sgid, 16);
	memcpy(grh + 24, a->dgid, 16);
}

struct fanout {
	const struct datagram *d;
	const struct qp *sender;
};

static void deliver_member(struct qp *qp, void *owner)
{
	struct fanout *f = owner;

	if (qp != f->sender)
		ud_deliver(qp, f->d);
}

/* True when the datagram stayed in this core. */
static bool deliver_here(struct qp *qp, const struct wqe *w,
			 const struct address *a, const struct datagram *d)
{
	struct fanout f = {.d = d, .sender = qp};
	struct qp *peer;

	if (gid_is_multicast(a->dgid)) {
		if (w->ud_qpn == MCAST_QPN)
			mcast_each(a->device, a->dgid, deliver_member, &f);
		return false;
	}
	if (!device_by_gid(a->dgid, NULL))
		return false;
	peer = qp_find(w->ud_qpn);
	if (peer && peer->type == QP_UD &&
	    device_has_gid(peer->o.client->device, a->dgid))
		ud_deliver(peer, d);
	return true;
}

static enum wc_status send_one(struct qp *qp, struct wqe *w)
{
	uint8_t payload[MTU_MAX];
	uint8_t grh[GRH_BYTES];
	struct span from[MAX_SGE];
	struct packet p = {0};
	struct datagram d = {0};
	struct ah *ah;
	unsigned count;

	if (w->error != WC_SUCCESS)
		return w->error;
	ah = w->ah_number
		 ? object_find(qp->o.client, w->ah_number - 1, OBJECT_AH)
		 : NULL;
	if (!ah || ah->pd != qp->pd)
		return WC_LOC_QP_OP_ERR;
	if (wqe_spans(qp, w, 0, from, &count) < 0)
		return WC_LOC_PROT_ERR;
	/* Longer than the port can carry: sent nowhere (C10-93.1.1). */
	if (w->length > mtu_bytes(device_mtu(ah->address.device)))
		return WC_SUCCESS;
	if (spans_read(from, count, 0, payload, w->length) < 0)
		return WC_LOC_PROT_ERR;
	build_grh(grh, &ah->address, w->length);
	d.qkey = w->ud_qkey & OWN_QKEY ? qp->attr.qkey : w->ud_qkey;
	d.source_qpn = qp->qpn;
	d.has_imm = w->opcode == IB_UVERBS_WR_SEND_WITH_IMM;
	d.imm = w->imm;
	d.is_solicited = w->flags & SEND_SOLICITED;
	d.grh = grh;
	d.payload = payload;
	d.payload_bytes = w->length;
	if (deliver_here(qp, w, &ah->address, &d))
		return WC_SUCCESS;
	p.opcode = TRANSPORT_UD | (d.has_imm ? OP_SEND_ONLY_IMM : OP_SEND_ONLY);
	p.is_solicited = d.is_solicited;
	p.dest_qpn = w->ud_qpn;
	p.psn = w->first_psn;
	p.qkey = d.qkey;
	p.source_qpn = qp->qpn;
	p.imm = w->imm;
	p.payload = payload;
	p.payload_bytes = w->length;
	wire_send(&ah->address, &p);
	return WC_SUCCESS;
}

void ud_run(struct qp *qp)
{
	struct requester *r = &qp->req;

	if (atomic_load(&qp->state) != QP_RTS)
		return;
	requester_take(qp);
	for (unsigned i = 0; r->tail != r->head; i++) {
		enum wc_status s;

		if (i == REQUESTS_MAX) {
			work_post(&qp->work);
			break;
		}
		s = send_one(qp, requester_wqe(qp, r->tail));
		if (s != WC_SUCCESS) {
			requester_fail(qp, s);
			break;
		}
		requester_complete(qp, WC_SUCCESS);
		requester_take(qp);
	}
	wire_flush();
}
