/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_echo: last answers, said again.
 */
#include "ofed_core/rc/qp_echo.h"

#include <string.h>

#define ECHOES  1024 /* a power of two; later ones take the place of earlier */
#define KEEP_NS (10 * UINT64_C(1000) * NS_PER_MS)

struct echo {
	uint32_t qpn; /* 0: the place is free */
	struct address to;
	uint32_t dest_qpn;
	uint32_t psn; /* next that was expected */
	uint32_t msn;
	uint8_t nak; /* what became of that one; 0: nothing */
	uint64_t until;
};

static struct echo echoes[ECHOES];

static struct echo *place(uint32_t qpn)
{
	return &echoes[(qpn ^ qpn >> 14) & (ECHOES - 1)];
}

static struct echo echo_of(const struct qp *qp)
{
	return (struct echo){.qpn = qp->qpn,
			     .to = qp->attr.address,
			     .dest_qpn = qp->attr.dest_qpn,
			     .psn = qp->resp.psn,
			     .msn = qp->resp.msn,
			     .nak = qp->resp.nak};
}

/* It acknowledges all that was received. */
static struct packet acknowledgement(const struct echo *e)
{
	return (struct packet){.opcode = TRANSPORT_RC | OP_ACK,
			       .dest_qpn = e->dest_qpn,
			       .psn = (e->psn - 1) & PSN_MASK,
			       .syndrome = AETH_ACK | AETH_ACK_UNLIMITED,
			       .msn = e->msn};
}

static void answer(const struct echo *e, const struct packet *p)
{
	struct packet a = acknowledgement(e);
	int32_t distance = psn_diff(p->psn, e->psn);

	if (distance == 0 && e->nak) {
		a.psn = e->psn;
		a.syndrome = e->nak;
	} else if (distance >= 0 || !p->wants_ack ||
		   !(p->properties & (PACKET_SEND | PACKET_WRITE))) {
		return;
	}
	wire_send(&e->to, &a);
	wire_flush();
}

static bool is_on_wire(const struct qp *qp)
{
	return qp->type == QP_RC && !qp->is_local && qp->attr.address.device;
}

void qp_echo_goodbye(const struct qp *qp)
{
	struct echo e = echo_of(qp);
	struct packet a = acknowledgement(&e);

	if (!is_on_wire(qp) || e.psn == qp->attr.rq_psn || e.nak)
		return;
	wire_send(&e.to, &a);
	wire_flush();
}

void qp_echo_keep(const struct qp *qp)
{
	struct echo *e = place(qp->qpn);

	if (!is_on_wire(qp) ||
	    (qp->resp.psn == qp->attr.rq_psn && !qp->resp.nak))
		return;
	*e = echo_of(qp);
	e->until = clock_ns() + KEEP_NS;
}

void qp_echo(const struct qp *qp, const struct packet *const *p, unsigned count)
{
	struct echo e = echo_of(qp);

	for (unsigned i = 0; i < count && qp->type == QP_RC; i++)
		answer(&e, p[i]);
}

bool qp_echo_gone(const struct arrival *a)
{
	const struct echo *e = place(a->p.dest_qpn);

	if (!a->p.dest_qpn || e->qpn != a->p.dest_qpn ||
	    !(a->p.properties & PACKET_REQUEST) ||
	    a->p.opcode & TRANSPORT_MASK ||
	    memcmp(a->sgid, e->to.dgid, 16) != 0 ||
	    memcmp(a->dgid, e->to.sgid, 16) != 0 || e->until < clock_ns())
		return false;
	answer(e, &a->p);
	return true;
}
