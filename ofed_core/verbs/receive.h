/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * receive: what every way into a queue pair shares: receives, atomics,
 * the first sign of the peer.
 *
 * Locking: rq_lock of the pair is held.
 */
#ifndef OFED_CORE_RECEIVE_H
#define OFED_CORE_RECEIVE_H

#include "ofed_core/verbs/qp.h"

/* Takes a receive for the message that begins; -EAGAIN: none (RNR). */
int receive_take(struct qp *qp);
/* Completes the receive that was taken. */
void receive_complete(struct qp *qp, struct ib_uverbs_wc *wc,
		      bool is_solicited);
/* The peer has sent something: the program is told once. */
void receive_established(struct qp *qp);

/* What a peer wants done with one 64-bit word of ours. */
struct atomic_request {
	uint32_t opcode; /* IB_UVERBS_WR_ATOMIC_... */
	uint32_t rkey;
	uint64_t address;
	uint64_t compare_add;
	uint64_t swap;
};

/* 0 and what the word was before, or -errno. */
int receive_atomic(struct qp *qp, const struct atomic_request *a,
		   uint64_t *original);
/* Writes a word at once, as its bytes came. */
int receive_atomic_write(struct qp *qp, uint32_t rkey, uint64_t address,
			 uint64_t value);

#endif
