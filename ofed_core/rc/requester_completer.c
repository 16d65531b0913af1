/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * requester_completer: what answers of the peer mean for the requester.
 *
 * InfiniBand 9.7.5.1 and 9.7.7: an answer acknowledges everything before it;
 * a READ or atomic whose own answer is missing is asked for again.
 */
#include "ofed_core/rc/requester.h"

#include "ofed_core/wire/wire.h"

void requester_go_back(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;

	wire_count(WIRE_RETRANSMITS, 1);
	r->send_psn = psn;
	r->cursor = r->tail;
	window_untime(&r->window);
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
	window_narrow(&qp->req.window, psn, qp->req.sent_end, false);
	requester_go_back(qp, psn);
	qp->req.has_gap = true;
}

static void advance(struct qp *qp, uint32_t una)
{
	struct requester *r = &qp->req;

	if (psn_diff(una, r->una) <= 0)
		return;
	window_open(&r->window, (uint32_t)psn_diff(una, r->una));
	window_answered(&r->window, una);
	r->una = una & PSN_MASK;
	r->has_gap = false;
	/*
	 * After going back, an answer may overtake what is sent again. Where
	 * a gap made us go back, the peer must have kept what came behind it.
	 */
	if (psn_diff(r->una, r->send_psn) > 0) {
		r->peer_keeps |= r->went_back;
		r->send_psn = r->una;
	}
	if (r->una == r->sent_end)
		r->went_back = false;
	requester_reads_done(qp, r->una);
	requester_progress(qp);
}

/* True when nothing up to psn is missing. */
static bool acknowledge(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;

	while (r->tail != r->head) {
		struct wqe *w = requester_wqe(qp, r->tail);

		if (wqe_is_answered(w) && psn_diff(psn, w->response_psn) >= 0) {
			advance(qp, w->response_psn);
			retry_from(qp, w->response_psn);
			return false;
		}
		if (wqe_is_local(w) || psn_diff(psn, w->last_psn) < 0)
			break;
		advance(qp, w->last_psn + 1);
		requester_complete(qp, WC_SUCCESS);
	}
	advance(qp, psn + 1);
	return true;
}

/*
 * The peer misses a packet. One that keeps what came after it needs just that;
 * one that then misses the next too does not keep anything.
 */
static void make_good(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;

	if (!requester_may_retry(qp)) {
		requester_fail(qp, WC_RETRY_EXC_ERR);
		return;
	}
	if (r->has_repaired && psn == ((r->repaired_psn + 1) & PSN_MASK))
		r->peer_keeps = false;
	window_narrow(&r->window, psn, r->sent_end, r->peer_keeps);
	r->has_repaired = r->peer_keeps && requester_resend(qp, psn);
	r->repaired_psn = psn;
	if (r->has_repaired)
		return;
	requester_go_back(qp, psn);
	r->went_back = true;
}

static void handle_ack(struct qp *qp, const struct packet *p)
{
	struct requester *r = &qp->req;
	enum wc_status status = WC_FATAL_ERR;

	if ((p->syndrome & AETH_KIND_MASK) == AETH_ACK) {
		bool has_probed = r->has_probed;
		uint32_t before = r->una;

		acknowledge(qp, p->psn);
		/* Just what was sent again: the rest may be lost as well. */
		r->has_probed =
		    has_probed && r->una == ((before + 1) & PSN_MASK);
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
		requester_go_back(qp, p->psn);
		requester_await_rnr(qp, p->syndrome & AETH_VALUE_MASK);
		return;
	}
	switch (p->syndrome) {
	case NAK_SEQUENCE:
		make_good(qp, p->psn);
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

/* Consecutive packets of one answer go to memory at once; how many. */
static unsigned store_read(struct qp *qp, struct wqe *w,
			   const struct packet *const *p, unsigned count)
{
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	uint64_t at = (uint64_t)psn_diff(p[0]->psn, w->first_psn) * mtu;
	struct iovec pieces[PIECES_MAX];
	struct span to[MAX_SGE];
	uint64_t end = at;
	unsigned spans;
	unsigned n;

	for (n = 0; n < count && n < PIECES_MAX; n++) {
		uint64_t expected =
		    w->length - end < mtu ? w->length - end : mtu;

		if (p[n]->psn != ((w->response_psn + n) & PSN_MASK) ||
		    psn_diff(p[n]->psn, w->last_psn) > 0 ||
		    !(p[n]->properties & PACKET_READ_RESPONSE) ||
		    p[n]->payload_bytes != expected)
			break;
		pieces[n] = (struct iovec){(void *)(uintptr_t)p[n]->payload,
					   p[n]->payload_bytes};
		end += expected;
	}
	if (!n) {
		requester_fail(qp, WC_BAD_RESP_ERR);
		return 1;
	}
	if (wqe_spans(qp, w, ACCESS_LOCAL_WRITE, to, &spans) < 0 ||
	    spans_gather(to, spans, at, pieces, n) < 0) {
		requester_fail(qp, WC_LOC_PROT_ERR);
		return n;
	}
	w->response_psn = (p[n - 1]->psn + 1) & PSN_MASK;
	advance(qp, w->response_psn);
	if (p[n - 1]->psn == w->last_psn)
		requester_complete(qp, WC_SUCCESS);
	return n;
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

/* An empty READ response tells that the word was written. */
static void finish_atomic_write(struct qp *qp, const struct packet *p)
{
	advance(qp, p->psn + 1);
	requester_complete(qp, WC_SUCCESS);
}

static bool is_read_response_right(const struct wqe *w, const struct packet *p)
{
	if (w->opcode == WR_ATOMIC_WRITE)
		return !p->payload_bytes;
	return w->opcode == IB_UVERBS_WR_RDMA_READ;
}

/* Takes p[0] and what carries on from it; returns how many. */
static unsigned handle_data(struct qp *qp, const struct packet *const *p,
			    unsigned count)
{
	struct requester *r = &qp->req;
	bool is_read = p[0]->properties & PACKET_READ_RESPONSE;
	struct wqe *w;

	/* Requests before this one are accepted with it. */
	while (r->tail != r->head) {
		w = requester_wqe(qp, r->tail);
		if (wqe_is_answered(w) || wqe_is_local(w) ||
		    psn_diff(p[0]->psn, w->last_psn) <= 0)
			break;
		advance(qp, w->last_psn + 1);
		requester_complete(qp, WC_SUCCESS);
	}
	if (r->tail == r->head)
		return 1;
	w = requester_wqe(qp, r->tail);
	if (!wqe_is_answered(w) || psn_diff(p[0]->psn, w->response_psn) < 0)
		return 1;
	if (p[0]->psn != w->response_psn)
		retry_from(qp, w->response_psn);
	else if (is_read != is_read_response_right(w, p[0]))
		requester_fail(qp, WC_BAD_RESP_ERR);
	else if (w->opcode == WR_ATOMIC_WRITE)
		finish_atomic_write(qp, p[0]);
	else if (is_read)
		return store_read(qp, w, p, count);
	else
		store_atomic(qp, w, p[0]);
	return 1;
}

void requester_handle(struct qp *qp, const struct packet *const *p,
		      unsigned count)
{
	struct requester *r = &qp->req;

	for (unsigned i = 0; i < count;) {
		if (atomic_load(&qp->state) == QP_ERR || r->tail == r->head)
			return;
		/* Old, or about something that was never sent. */
		if (psn_diff(p[i]->psn, r->una) < 0 ||
		    psn_diff(p[i]->psn, r->sent_end) >= 0) {
			i++;
		} else if (p[i]->properties & PACKET_ACK) {
			handle_ack(qp, p[i++]);
		} else {
			i += handle_data(qp, p + i, count - i);
		}
	}
}
