/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * requester: the send side of a queue pair.
 *
 * Locking: sq_lock of the pair is held.
 *
 * Loss: a requester that saw an ACK overtake what it was about to repeat has
 * learnt that its peer keeps packets, and repeats one packet instead of all.
 * The window opens and closes as TCP's; round trips are measured, and silence
 * is met with one packet first.
 */
#ifndef OFED_CORE_REQUESTER_H
#define OFED_CORE_REQUESTER_H

#include "ofed_core/pure/packet.h"
#include "ofed_core/verbs/qp.h"

/* ---- Requests (requester_wqe.c) ---- */

/* Changes keys here and sends nothing. */
static inline bool wqe_is_local(const struct wqe *w)
{
	return w->opcode == IB_UVERBS_WR_BIND_MW ||
	       w->opcode == IB_UVERBS_WR_LOCAL_INV;
}

/* READ and the atomics: complete with an answer of their own. */
static inline bool wqe_is_answered(const struct wqe *w)
{
	return w->opcode == IB_UVERBS_WR_RDMA_READ ||
	       w->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD ||
	       w->opcode == WR_ATOMIC_WRITE;
}

/* The request with that number; see struct requester. */
struct wqe *requester_wqe(struct qp *qp, uint32_t counter);
/* Memory for all requests of the pair. */
static inline uint64_t wqe_bytes(const struct qp *qp)
{
	return qp->req.slots * sizeof(struct wqe);
}
/* Pieces of the request's own memory; access 0 or ACCESS_LOCAL_WRITE. */
int wqe_spans(const struct qp *qp, const struct wqe *w, uint32_t access,
	      struct span *out, unsigned *count);
/* Packets that a message of so many bytes takes. */
uint32_t packets_of(uint32_t bytes, uint32_t mtu);

/*
 * A local request that is the oldest: executes and completes it; false when
 * it failed.
 */
bool requester_do_local(struct qp *qp, struct wqe *w);

/* Copies new requests out of the ring, as many as there is room for. */
void requester_take(struct qp *qp);
/* The program has posted what was not copied yet, after the fence. */
bool requester_has_posted(const struct qp *qp);
/* Completes the oldest request. */
void requester_complete(struct qp *qp, enum wc_status status);
/* The oldest request failed: completes it, and the pair leaves RTS. */
void requester_fail(struct qp *qp, enum wc_status status);
/* Completes all of them with WR_FLUSH_ERR. */
void requester_flush(struct qp *qp);
/* Begins anew, as if nothing had been sent. */
void requester_reset(struct qp *qp);
/* The pair may send: sequence numbers begin. */
void requester_start(struct qp *qp);
/* In SQD: reports once that nothing is under way. */
void requester_drained(struct qp *qp);

/* ---- How long it waits (requester_timeouts.c) ---- */

/* Its timer fired. */
void requester_timer(struct qp *qp);
/* Waits for an answer, or for the peer to have a receive. */
void requester_await_ack(struct qp *qp);
void requester_await_rnr(struct qp *qp, unsigned timer_code);
/* Progress: nothing to wait for, counters start again. */
void requester_progress(struct qp *qp);

/* True when another retry is allowed; counts it. */
bool requester_may_retry(struct qp *qp);
bool requester_may_retry_rnr(struct qp *qp);

/* AETH timer code 0..31 in ns; local ACK timeout code 0..31 (0: for ever). */
uint64_t rnr_timer_ns(unsigned code);
uint64_t ack_timeout_ns(unsigned code);

/* ---- Answers of the peer (requester_completer.c) ---- */

/* ACKs, NAKs, READ responses and atomic answers, in the order of arrival. */
void requester_handle(struct qp *qp, const struct packet *const *p,
		      unsigned count);
/* Sends again from this PSN on. */
void requester_go_back(struct qp *qp, uint32_t psn);

/* ---- Sending (requester_send.c) ---- */

/* Sends what was posted; of an unreliable pair it is complete then. */
void requester_run(struct qp *qp);
/* Sends one packet of a SEND or WRITE again; false when it is none. */
bool requester_resend(struct qp *qp, uint32_t psn);

/* READ and atomic requests: all before una are answered; from `from` on they
 * are going to be sent again. */
void requester_reads_done(struct qp *qp, uint32_t una);
void requester_reads_undo(struct qp *qp, uint32_t from);

/* ---- How much may be under way (requester_window.c) ---- */

/*
 * The window opens with what the peer accepts. Gaps narrow it, once for each
 * windowful; when nothing comes back it closes to a single packet.
 */
void window_init(struct window *w);
void window_open(struct window *w, uint32_t packets);
void window_narrow(struct window *w, uint32_t lost, uint32_t sent_end,
		   bool peer_keeps);
void window_close(struct window *w);
/* The packet is on its way, or is not to be measured after all. */
void window_time(struct window *w, uint32_t psn, uint64_t now);
void window_untime(struct window *w);
/* Everything before una was accepted. */
void window_answered(struct window *w, uint32_t una);
/* Quiet for so long, something is missing. */
uint64_t window_timeout_ns(const struct window *w);

#endif
