/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder: what a connected queue pair does with requests from the wire.
 *
 * Locking: rq_lock of the pair is held.
 */
#ifndef OFED_CORE_RESPONDER_H
#define OFED_CORE_RESPONDER_H

#include "packet.h"
#include "qp.h"

void responder_handle(struct qp *qp, const struct packet *p);
void responder_handle_uc(struct qp *qp, const struct packet *p);

/* What a packet of a message comes to; shared by RC and UC. */
enum verdict {
	VERDICT_OK,
	VERDICT_NOT_READY, /* no receive posted */
	VERDICT_INVALID,   /* NAK invalid request */
	VERDICT_ACCESS,    /* NAK remote access error */
	VERDICT_LOCAL,     /* NAK operational error: our receive is bad */
};

/* SEND and WRITE packets in order: writes data, completes receives. */
enum verdict responder_take(struct qp *qp, const struct packet *p);

#endif
