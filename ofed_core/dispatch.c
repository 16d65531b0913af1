/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dispatch: from a packet that arrived to its queue pair.
 *
 * Whatever does not fit is dropped without an answer.
 */
#include <string.h>

#include "cm.h"
#include "completer.h"
#include "requester.h"
#include "responder.h"
#include "wire.h"

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

/* The addresses must be those the pair was connected with. */
static bool is_from_peer(const struct qp *qp, const struct arrival *a)
{
	return memcmp(a->sgid, qp->attr.address.dgid, 16) == 0 &&
	       memcmp(a->dgid, qp->attr.address.sgid, 16) == 0;
}

static void to_connected(struct qp *qp, const struct arrival *a)
{
	enum qp_state s = atomic_load(&qp->state);
	bool runs = s == QP_RTS || s == QP_SQD;

	if (a->p.properties & PACKET_REQUEST) {
		if (!runs && s != QP_RTR && s != QP_SQE)
			return;
		pthread_mutex_lock(&qp->rq_lock);
		if (qp->type == QP_RC)
			responder_handle(qp, &a->p);
		else
			responder_handle_uc(qp, &a->p);
		pthread_mutex_unlock(&qp->rq_lock);
		return;
	}
	if (!runs || qp->type != QP_RC)
		return;
	pthread_mutex_lock(&qp->sq_lock);
	completer_handle(qp, &a->p);
	pthread_mutex_unlock(&qp->sq_lock);
	/* Room in the window, or a flush after an error. */
	qp_run(qp);
}

static bool fits_type(const struct qp *qp, uint8_t opcode)
{
	switch (qp->type) {
	case QP_RC:
		return (opcode & 0xe0) == TRANSPORT_RC;
	case QP_UC:
		return (opcode & 0xe0) == TRANSPORT_UC;
	case QP_UD:
		return (opcode & 0xe0) == TRANSPORT_UD;
	}
	return false;
}

void dispatch(const struct arrival *a)
{
	struct datagram d;
	struct qp *qp;

	if (gid_is_multicast(a->dgid)) {
		if (a->p.dest_qpn != QPN_MCAST ||
		    !(a->p.properties & PACKET_HAS_DETH))
			return;
		to_datagram(a, &d);
		mcast_each(a->dgid, deliver_copy, &d);
		return;
	}
	if (a->p.dest_qpn == QPN_CM) {
		if (a->p.properties & PACKET_HAS_DETH)
			cm_receive(a);
		return;
	}
	qp = qp_find(a->p.dest_qpn);
	if (!qp || !fits_type(qp, a->p.opcode)) {
		wire_count(WIRE_NO_QP, 1);
		return;
	}
	if (qp->type == QP_UD) {
		to_datagram(a, &d);
		ud_deliver(qp, &d);
	} else if (is_from_peer(qp, a)) {
		to_connected(qp, a);
	}
}
