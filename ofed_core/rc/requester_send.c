/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * requester_send: requests of a connected queue pair onto the wire.
 *
 * Everything between una and psn may have to be sent again; a packet follows
 * from its sequence number alone, so going back is setting send_psn.
 */
#include "ofed_core/rc/requester.h"

#include <errno.h>
#include <string.h>

#include "ofed_core/wire/wire.h"

#define READ_PIECE    32
#define BURST         64        /* packets whose data is fetched at once */
#define ACK_EVERY     32        /* packets of a long message */
#define IN_FLIGHT_MAX (1 << 22) /* sequence numbers; half of what compares */
#define TURN_PACKETS  256       /* before others have their turn */

static bool is_read(const struct wqe *w)
{
	return w->opcode == IB_UVERBS_WR_RDMA_READ;
}

/* The request that the number belongs to, looked for from `from` on. */
static struct wqe *wqe_at(struct qp *qp, uint32_t psn, uint32_t from,
			  uint32_t *counter)
{
	for (uint32_t i = from; i != qp->req.head; i++) {
		struct wqe *w = requester_wqe(qp, i);

		/* Nothing behind a local request has been sent. */
		if (wqe_is_local(w) || psn_diff(psn, w->last_psn) <= 0) {
			*counter = i;
			return w;
		}
	}
	return NULL;
}

static struct wqe *next_wqe(struct qp *qp, uint32_t *counter)
{
	struct requester *r = &qp->req;
	struct wqe *w;

	/* Requests may have been answered since. */
	if ((int32_t)(r->cursor - r->tail) < 0)
		r->cursor = r->tail;
	w = wqe_at(qp, r->send_psn, r->cursor, counter);
	if (w)
		r->cursor = *counter;
	return w;
}

static void sent(struct qp *qp, uint32_t count)
{
	struct requester *r = &qp->req;

	r->send_psn = (r->send_psn + count) & PSN_MASK;
	if (psn_diff(r->send_psn, r->sent_end) > 0)
		r->sent_end = r->send_psn;
}

static uint8_t opcode_of(const struct wqe *w, uint32_t i, uint32_t n)
{
	bool is_write = w->opcode == IB_UVERBS_WR_RDMA_WRITE ||
			w->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
	bool has_imm = w->opcode == IB_UVERBS_WR_SEND_WITH_IMM ||
		       w->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
	uint8_t base = is_write ? OP_WRITE_FIRST : OP_SEND_FIRST;

	if (w->opcode == IB_UVERBS_WR_SEND_WITH_INV && i == n - 1)
		return n == 1 ? OP_SEND_ONLY_INV : OP_SEND_LAST_INV;
	if (n == 1)
		return (uint8_t)(base + (OP_SEND_ONLY - OP_SEND_FIRST) +
				 has_imm);
	if (i == 0)
		return base;
	if (i < n - 1)
		return (uint8_t)(base + (OP_SEND_MIDDLE - OP_SEND_FIRST));
	return (uint8_t)(base + (OP_SEND_LAST - OP_SEND_FIRST) + has_imm);
}

struct piece {
	uint32_t i; /* of n packets of the message */
	uint32_t n;
	bool ends_burst; /* more may have to wait for its answer */
	const uint8_t *data;
	size_t bytes;
};

static void send_piece(struct qp *qp, const struct wqe *w,
		       const struct piece *f)
{
	bool is_last = f->i == f->n - 1;
	struct packet p = {
	    .opcode =
		(uint8_t)((qp->type == QP_UC ? TRANSPORT_UC : TRANSPORT_RC) |
			  opcode_of(w, f->i, f->n)),
	    .dest_qpn = qp->attr.dest_qpn,
	    .psn = (w->first_psn + f->i) & PSN_MASK,
	    .is_solicited = is_last && (w->flags & SEND_SOLICITED),
	    .address = w->remote_address,
	    .rkey = w->rkey,
	    .dma_bytes = w->length,
	    .imm = w->imm,
	    .invalidate = w->imm,
	    .payload = f->data,
	    .payload_bytes = f->bytes,
	};

	if (qp->type == QP_RC)
		p.wants_ack = is_last || f->ends_burst ||
			      (f->i + 1) % ACK_EVERY == 0 ||
			      (qp->req.went_back && p.psn == qp->req.una);
	wire_send(&qp->attr.address, &p);
}

/* Packets i, i + 1 ... of a SEND or WRITE. -EFAULT: a local error. */
static int send_pieces(struct qp *qp, const struct wqe *w, uint32_t i,
		       uint32_t count)
{
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	uint32_t n = packets_of(w->length, mtu);
	uint64_t bytes = (uint64_t)w->length - (uint64_t)i * mtu;
	struct span from[MAX_SGE];
	unsigned spans;
	uint8_t *data;

	if (bytes > (uint64_t)count * mtu)
		bytes = (uint64_t)count * mtu;
	data = wire_space(bytes);
	if (!data || wqe_spans(qp, w, 0, from, &spans) < 0 ||
	    spans_read(from, spans, (uint64_t)i * mtu, data, bytes) < 0)
		return -EFAULT;
	for (uint32_t k = 0; k < count; k++) {
		uint64_t skip = (uint64_t)k * mtu;
		struct piece f = {
		    .i = i + k,
		    .n = n,
		    .ends_burst = k == count - 1,
		    .data = data + skip,
		    .bytes = bytes - skip < mtu ? bytes - skip : mtu,
		};

		send_piece(qp, w, &f);
	}
	return 0;
}

/* Sends up to `room` packets of a SEND or WRITE. False on a local error. */
static bool send_message(struct qp *qp, const struct wqe *w, uint32_t room)
{
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	uint32_t i = (uint32_t)psn_diff(qp->req.send_psn, w->first_psn);
	uint32_t count = packets_of(w->length, mtu) - i;

	if (count > room)
		count = room;
	if (count > BURST)
		count = BURST;
	if (send_pieces(qp, w, i, count) < 0)
		return false;
	sent(qp, count);
	return true;
}

bool requester_resend(struct qp *qp, uint32_t psn)
{
	uint32_t counter;
	struct wqe *w = wqe_at(qp, psn, qp->req.tail, &counter);

	if (!w || w->error != WC_SUCCESS || wqe_is_local(w) ||
	    wqe_is_answered(w))
		return false;
	wire_count(WIRE_RETRANSMITS, 1);
	/* A local error is found when its turn comes. */
	if (send_pieces(qp, w, (uint32_t)psn_diff(psn, w->first_psn), 1) < 0)
		return false;
	wire_flush();
	return true;
}

/* ---- READ and atomics: requests that bring data back ---- */

void requester_reads_done(struct qp *qp, uint32_t una)
{
	struct requester *r = &qp->req;
	unsigned kept = 0;

	for (unsigned i = 0; i < r->read_count; i++)
		if (psn_diff(una, r->read_ends[i]) <= 0)
			r->read_ends[kept++] = r->read_ends[i];
	r->read_count = kept;
}

void requester_reads_undo(struct qp *qp, uint32_t from)
{
	struct requester *r = &qp->req;
	unsigned kept = 0;

	for (unsigned i = 0; i < r->read_count; i++)
		if (psn_diff(r->read_ends[i], from) < 0)
			r->read_ends[kept++] = r->read_ends[i];
	r->read_count = kept;
}

/* A request that takes the next `count` numbers. */
static void send_request(struct qp *qp, const struct packet *p, uint32_t count)
{
	struct requester *r = &qp->req;

	wire_send(&qp->attr.address, p);
	r->read_ends[r->read_count++] = (r->send_psn + count - 1) & PSN_MASK;
	sent(qp, count);
}

/*
 * A READ is asked for in pieces: that bounds what comes back at once. A piece
 * that is asked for again, from wherever, ends where it ended before; the peer
 * answers only what lies within a request it has seen (9.7.5.1.2).
 */
static void send_read(struct qp *qp, struct wqe *w)
{
	struct requester *r = &qp->req;
	uint32_t mtu = mtu_bytes(qp->attr.path_mtu);
	uint32_t i = (uint32_t)psn_diff(r->send_psn, w->first_psn);
	uint32_t count = packets_of(w->length, mtu) - i;
	uint64_t at = (uint64_t)i * mtu;
	struct packet p = {.opcode = TRANSPORT_RC | OP_READ_REQUEST,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = r->send_psn,
			   .wants_ack = true,
			   .address = w->remote_address + at,
			   .rkey = w->rkey};

	if (count > READ_PIECE - i % READ_PIECE)
		count = READ_PIECE - i % READ_PIECE;
	p.dma_bytes = (uint32_t)(w->length - at);
	if (p.dma_bytes > count * mtu)
		p.dma_bytes = count * mtu;
	send_request(qp, &p, count);
}

static void send_atomic(struct qp *qp, struct wqe *w)
{
	bool is_swap = w->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP;
	struct packet p = {
	    .opcode = (uint8_t)(TRANSPORT_RC |
				(is_swap ? OP_COMPARE_SWAP : OP_FETCH_ADD)),
	    .dest_qpn = qp->attr.dest_qpn,
	    .psn = qp->req.send_psn,
	    .wants_ack = true,
	    .address = w->remote_address,
	    .rkey = w->rkey,
	    .swap_add = is_swap ? w->swap : w->compare_add,
	    .compare = is_swap ? w->compare_add : 0,
	};

	send_request(qp, &p, 1);
}

static bool send_atomic_write(struct qp *qp, struct wqe *w)
{
	uint8_t *data = wire_space(w->length);
	struct packet p = {.opcode = TRANSPORT_RC | OP_ATOMIC_WRITE,
			   .dest_qpn = qp->attr.dest_qpn,
			   .psn = qp->req.send_psn,
			   .wants_ack = true,
			   .address = w->remote_address,
			   .rkey = w->rkey,
			   .dma_bytes = w->length,
			   .payload = data,
			   .payload_bytes = w->length};

	if (!data)
		return false;
	memcpy(data, w->data, w->length);
	send_request(qp, &p, 1);
	return true;
}

static bool send_answered(struct qp *qp, struct wqe *w)
{
	if (w->opcode == WR_ATOMIC_WRITE)
		return send_atomic_write(qp, w);
	if (is_read(w))
		send_read(qp, w);
	else
		send_atomic(qp, w);
	return true;
}

/* ---- The loop ---- */

/* A fenced request waits until what was read before it has arrived. */
static bool is_fenced(struct qp *qp, const struct wqe *w, uint32_t counter)
{
	if (!(w->flags & SEND_FENCE))
		return false;
	for (uint32_t i = qp->req.tail; i != counter; i++) {
		const struct wqe *before = requester_wqe(qp, i);

		if (wqe_is_answered(before))
			return true;
	}
	return false;
}

/* An error is reported when everything before it has completed. */
static void fail_in_turn(struct qp *qp, struct wqe *w, uint32_t counter,
			 enum wc_status status)
{
	w->error = status;
	if (counter == qp->req.tail)
		requester_fail(qp, status);
}

/* Sends some of the next request; false when it must wait. */
static bool send_some(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint32_t counter;
	struct wqe *w = next_wqe(qp, &counter);
	int32_t in_flight = psn_diff(r->send_psn, r->una);
	int32_t room;
	struct span local[MAX_SGE];
	unsigned count;

	if (!w || is_fenced(qp, w, counter))
		return false;
	if (w->error != WC_SUCCESS) {
		fail_in_turn(qp, w, counter, w->error);
		return false;
	}
	/* It waits until all before it are done, and all behind it for it. */
	if (wqe_is_local(w))
		return counter == r->tail && requester_do_local(qp, w);
	if (wqe_is_answered(w)) {
		if (!qp->attr.max_rd_atomic ||
		    wqe_spans(qp, w, ACCESS_LOCAL_WRITE, local, &count) < 0) {
			fail_in_turn(qp, w, counter,
				     qp->attr.max_rd_atomic ? WC_LOC_PROT_ERR
							    : WC_LOC_QP_OP_ERR);
			return false;
		}
		/* The program's limit may be higher than ours. */
		if (r->read_count >= qp->attr.max_rd_atomic ||
		    r->read_count >= MAX_RD_ATOM ||
		    (r->read_count && in_flight >= (int32_t)r->window.packets))
			return false;
		return send_answered(qp, w);
	}
	/* Behind a long READ the distance says nothing about the wire. */
	if (r->read_count)
		room =
		    in_flight > IN_FLIGHT_MAX ? 0 : (int32_t)r->window.packets;
	else
		room = (int32_t)r->window.packets - in_flight;
	if (room <= 0)
		return false;
	if (send_message(qp, w, (uint32_t)room))
		return true;
	fail_in_turn(qp, w, counter, WC_LOC_PROT_ERR);
	return false;
}

/* Requests that take no sequence number are all that is left. */
static bool has_local(struct qp *qp)
{
	struct requester *r = &qp->req;

	return r->tail != r->head && wqe_is_local(requester_wqe(qp, r->tail));
}

static void run_reliable(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint32_t from = r->send_psn;

	if (r->wait == WAIT_RNR)
		return;
	while ((psn_diff(r->send_psn, r->psn) < 0 || has_local(qp)) &&
	       atomic_load(&qp->state) != QP_ERR) {
		if (psn_diff(r->send_psn, from) > TURN_PACKETS) {
			work_post(&qp->work);
			break;
		}
		if (!send_some(qp))
			break;
	}
	if (r->wait == WAIT_NOTHING && r->una != r->send_psn &&
	    r->tail != r->head)
		requester_await_ack(qp);
}

static void run_unreliable(struct qp *qp)
{
	struct requester *r = &qp->req;

	for (uint32_t n = 0; r->tail != r->head;) {
		struct wqe *w = requester_wqe(qp, r->tail);
		uint32_t before = r->send_psn;

		if (n >= TURN_PACKETS) {
			work_post(&qp->work);
			return;
		}
		if (wqe_is_local(w)) {
			if (!requester_do_local(qp, w))
				return;
			requester_take(qp);
			n++;
			continue;
		}
		if (w->error == WC_SUCCESS && !send_message(qp, w, BURST))
			w->error = WC_LOC_PROT_ERR;
		if (w->error != WC_SUCCESS) {
			requester_fail(qp, w->error);
			return;
		}
		n += (uint32_t)psn_diff(r->send_psn, before);
		if (psn_diff(r->send_psn, w->last_psn) <= 0)
			continue;
		r->una = r->send_psn;
		requester_complete(qp, WC_SUCCESS);
		requester_take(qp);
	}
}

void requester_run(struct qp *qp)
{
	if (atomic_load(&qp->state) == QP_RTS)
		requester_take(qp);
	if (qp->type == QP_UC)
		run_unreliable(qp);
	else
		run_reliable(qp);
	/* In order: while the lock is held. */
	wire_flush();
}
