/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dispatch: from a packet that arrived to its queue pair.
 *
 * Whatever does not fit is dropped without an answer.
 */
#include "ofed_core/service/dispatch.h"

#include <string.h>

#include "ofed_core/cm/cm.h"
#include "ofed_core/qp/qp_state.h"
#include "ofed_core/rc/qp_echo.h"
#include "ofed_core/ud/mcast.h"
#include "ofed_core/ud/ud.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/qp_table.h"

#define QPN_CM    1
#define QPN_MCAST 0xffffff

static void to_datagram(const struct arrival *a, struct datagram *d)
{
	*d = (struct datagram){
	    .qkey = a->p.qkey,
	    .source_qpn = a->p.source_qpn,
	    .imm = a->p.imm,
	    .has_imm = a->p.properties & PACKET_HAS_IMM,
	    .is_solicited = a->p.is_solicited,
	    .grh = a->grh,
	    .payload = a->p.payload,
	    .payload_bytes = a->p.payload_bytes,
	};
}

static void deliver_copy(struct qp *qp, void *owner)
{
	ud_deliver(qp, owner);
}

/*
 * The addresses must be those the pair was connected with. A peer in this core
 * sends nothing by the wire.
 */
static bool is_from_peer(const struct qp *qp, const struct arrival *a)
{
	return !qp->is_local &&
	       memcmp(a->sgid, qp->attr.address.dgid, 16) == 0 &&
	       memcmp(a->dgid, qp->attr.address.sgid, 16) == 0;
}

static void take_requests(struct qp *qp, const struct packet *const *p,
			  unsigned count)
{
	enum qp_state s = atomic_load(&qp->state);

	if (s == QP_RESET || s == QP_INIT)
		return;
	pthread_mutex_lock(&qp->rq_lock);
	if (s == QP_ERR)
		qp_echo(qp, p, count);
	else
		qp->ops->take_requests(qp, p, count);
	pthread_mutex_unlock(&qp->rq_lock);
}

static void take_answers(struct qp *qp, const struct packet *const *p,
			 unsigned count)
{
	enum qp_state s = atomic_load(&qp->state);

	if ((s != QP_RTS && s != QP_SQD) || !qp->ops->take_answers)
		return;
	pthread_mutex_lock(&qp->sq_lock);
	qp->ops->take_answers(qp, p, count);
	pthread_mutex_unlock(&qp->sq_lock);
	/* Room in the window, or a flush after an error. */
	qp_run(qp);
}

/* Packets from one to the same pair, of the same direction: taken at once. */
static bool are_alike(const struct arrival *a, const struct arrival *b)
{
	return a->p.dest_qpn == b->p.dest_qpn &&
	       (a->p.opcode & TRANSPORT_MASK) ==
		   (b->p.opcode & TRANSPORT_MASK) &&
	       !(a->p.properties & PACKET_REQUEST) ==
		   !(b->p.properties & PACKET_REQUEST) &&
	       memcmp(a->sgid, b->sgid, 16) == 0 &&
	       memcmp(a->dgid, b->dgid, 16) == 0;
}

static void to_connected(struct qp *qp, const struct arrival *a, unsigned count)
{
	const struct packet *p[WIRE_BATCH];

	for (unsigned i = 0; i < count; i++)
		p[i] = &a[i].p;
	if (a->p.properties & PACKET_REQUEST)
		take_requests(qp, p, count);
	else
		take_answers(qp, p, count);
}

static void to_unconnected(const struct arrival *a)
{
	struct datagram d;
	struct qp *qp;

	if (!(a->p.properties & PACKET_HAS_DETH)) {
		if (!qp_echo_gone(a))
			wire_count(WIRE_NO_QP, 1);
		return;
	}
	if (a->p.dest_qpn == QPN_CM) {
		/* Nobody out there has an address of ours. */
		if (!device_by_gid(a->sgid, NULL))
			cm_arrived(a);
		return;
	}
	to_datagram(a, &d);
	if (gid_is_multicast(a->dgid)) {
		if (a->p.dest_qpn == QPN_MCAST)
			mcast_each(a->device, a->dgid, deliver_copy, &d);
		return;
	}
	qp = qp_find(a->p.dest_qpn);
	if (qp && qp->type == QP_UD &&
	    device_has_gid(qp->o.client->device, a->dgid))
		ud_deliver(qp, &d);
	else
		wire_count(WIRE_NO_QP, 1);
}

void dispatch(const struct arrival *a, unsigned count)
{
	unsigned n;

	for (unsigned i = 0; i < count; i += n) {
		struct qp *qp = qp_find(a[i].p.dest_qpn);

		n = 1;
		if (!qp || qp->type == QP_UD || gid_is_multicast(a[i].dgid)) {
			to_unconnected(&a[i]);
			continue;
		}
		while (i + n < count && are_alike(&a[i], &a[i + n]))
			n++;
		if ((a[i].p.opcode & TRANSPORT_MASK) != qp->ops->transport)
			wire_count(WIRE_NO_QP, n);
		else if (is_from_peer(qp, &a[i]))
			to_connected(qp, &a[i], n);
	}
}
