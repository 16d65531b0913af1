/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * completer: what answers of the peer mean for the requester.
 *
 * InfiniBand 9.7.5.1 and 9.7.7: an answer acknowledges everything before it;
 * a READ or atomic whose own answer is missing is asked for again.
 */
#include "completer.h"

#include "requester.h"
#include "wire.h"

static bool brings_data(const struct wqe *w)
{
	return w->opcode == IB_UVERBS_WR_RDMA_READ ||
	       w->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
}

void completer_go_back(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;

	wire_count(WIRE_RETRANSMITS, 1);
	r->send_psn = psn;
	r->wait = WAIT_NOTHING;
	r->has_gap = false;
	requester_reads_undo(qp, psn);
}

/* Asks again, once for each gap, as often as the program allows. */
static void retry_from(struct qp *qp, uint32_t psn)
{
	if (qp->req.has_gap)
		return;
	if (!requester_may_retry(qp)) {
		requester_fail(qp, WC_RETRY_EXC_ERR);
		return;
	}
	requester_window_halve(qp);
	completer_go_back(qp, psn);
	qp->req.has_gap = true;
}

static void advance(struct qp *qp, uint32_t una)
{
	struct requester *r = &qp->req;

	if (psn_diff(una, r->una) <= 0)
		return;
	requester_window_open(qp, (uint32_t)psn_diff(una, r->una));
	r->una = una & PSN_MASK;
	r->has_gap = false;
	/* After going back, an answer may overtake what is sent again. */
	if (psn_diff(r->una, r->send_psn) > 0)
		r->send_psn = r->una;
	requester_reads_done(qp, r->una);
	requester_progress(qp);
}

/* True when nothing up to psn is missing. */
static bool acknowledge(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;

	while (r->tail != r->head) {
		struct wqe *w = requester_wqe(qp, r->tail);

		if (brings_data(w) && psn_diff(psn, w->response_psn) >= 0) {
			advance(qp, w->response_psn);
			retry_from(qp, w->response_psn);
			return false;
		}
		if (psn_diff(psn, w->last_psn) < 0)
			break;
		advance(qp, w->last_psn + 1);
		requester_complete(qp, WC_SUCCESS);
	}
	advance(qp, psn + 1);
	return true;
}

static void handle_ack(struct qp *qp, const struct packet *p)
{
	struct requester *r = &qp->req;
	enum wc_status status = WC_FATAL_ERR;

	if ((p->syndrome & AETH_KIND_MASK) == AETH_ACK) {
		acknowledge(qp, p->psn);
		return;
	}
	/* A NAK accepts what came before the packet it names. */
	if (!acknowledge(qp, (p->psn - 1) & PSN_MASK))
		return;
	if ((p->syndrome & AETH_KIND_MASK) == AETH_RNR) {
		if (!requester_may_retry_rnr(qp)) {
			requester_fail(qp, WC_RNR_RETRY_EXC_ERR);
			return;
		}
		completer_go_back(qp, p->psn);
		requester_await_rnr(qp, p->syndrome & AETH_VALUE_MASK);
		return;
	}
	switch (p->syndrome) {
	case NAK_SEQUENCE:
		if (!requester_may_retry(qp)) {
			requester_fail(qp, WC_RETRY_EXC_ERR);
			return;
		}
		requester_window_halve(qp);
		completer_go_back(qp, p->psn);
		return;
	case NAK_INVALID_REQUEST:
		status = WC_REM_INV_REQ_ERR;
		break;
	case NAK_ACCESS:
		status = WC_REM_ACCESS_ERR;
		break;
	case NAK_OPERATIONAL:
		status = WC_REM_OP_ERR;
		break;
	}
	if (status != WC_FATAL_ERR && r->tail != r->head)
		requester_fail(qp, status);
}

static void store_read(struct qp *qp, struct wqe *w, const struct packet *p)
{
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	uint64_t at = (uint64_t)psn_diff(p->psn, w->first_psn) * mtu;
	uint64_t expected = w->length - at < mtu ? w->length - at : mtu;
	struct span to[MAX_SGE];
	unsigned count;

	if (p->payload_bytes != expected) {
		requester_fail(qp, WC_BAD_RESP_ERR);
		return;
	}
	if (wqe_spans(qp, w, ACCESS_LOCAL_WRITE, to, &count) < 0 ||
	    spans_write(to, count, at, p->payload, p->payload_bytes) < 0) {
		requester_fail(qp, WC_LOC_PROT_ERR);
		return;
	}
	w->response_psn = (p->psn + 1) & PSN_MASK;
	advance(qp, w->response_psn);
	if (p->psn == w->last_psn)
		requester_complete(qp, WC_SUCCESS);
}

static void store_atomic(struct qp *qp, struct wqe *w, const struct packet *p)
{
	struct span to[MAX_SGE];
	unsigned count;

	if (wqe_spans(qp, w, ACCESS_LOCAL_WRITE, to, &count) < 0 ||
	    spans_write(to, count, 0, &p->original, 8) < 0) {
		requester_fail(qp, WC_LOC_PROT_ERR);
		return;
	}
	advance(qp, p->psn + 1);
	requester_complete(qp, WC_SUCCESS);
}

static void handle_data(struct qp *qp, const struct packet *p)
{
	struct requester *r = &qp->req;
	bool is_read = p->properties & PACKET_READ_RESPONSE;
	struct wqe *w;

	/* Requests before this one are accepted with it. */
	while (r->tail != r->head) {
		w = requester_wqe(qp, r->tail);
		if (brings_data(w) || psn_diff(p->psn, w->last_psn) <= 0)
			break;
		advance(qp, w->last_psn + 1);
		requester_complete(qp, WC_SUCCESS);
	}
	if (r->tail == r->head)
		return;
	w = requester_wqe(qp, r->tail);
	if (!brings_data(w) || psn_diff(p->psn, w->response_psn) < 0)
		return;
	if (p->psn != w->response_psn) {
		retry_from(qp, w->response_psn);
		return;
	}
	if (is_read != (w->opcode == IB_UVERBS_WR_RDMA_READ))
		requester_fail(qp, WC_BAD_RESP_ERR);
	else if (is_read)
		store_read(qp, w, p);
	else
		store_atomic(qp, w, p);
}

void completer_handle(struct qp *qp, const struct packet *p)
{
	struct requester *r = &qp->req;

	/* Old, or about something that was never sent. */
	if (psn_diff(p->psn, r->una) < 0 ||
	    psn_diff(p->psn, r->sent_end) >= 0 || r->tail == r->head)
		return;
	if (p->properties & PACKET_ACK)
		handle_ack(qp, p);
	else
		handle_data(qp, p);
}
