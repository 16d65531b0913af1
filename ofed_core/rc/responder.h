/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder: what a connected queue pair does with requests from the wire.
 *
 * Locking: rq_lock of the pair is held.
 *
 * Loss: it keeps what arrives behind a gap (1024 packets, 64 MiB in all) and
 * complains once. One ACK answers a batch.
 */
#ifndef OFED_CORE_RESPONDER_H
#define OFED_CORE_RESPONDER_H

#include "ofed_core/pure/packet.h"
#include "ofed_core/verbs/qp.h"

/* Begins anew, as if nothing had been received. */
void responder_reset(struct qp *qp);

/* Packets of the peer in the order in which they arrived; any number. */
void responder_handle(struct qp *qp, const struct packet *const *p,
		      unsigned count);
void responder_handle_uc(struct qp *qp, const struct packet *const *p,
			 unsigned count);

/* The rest of a READ has its turn. */
void responder_go_on(struct qp *qp);

/* What a packet of a message comes to; shared by RC and UC. */
enum verdict {
	VERDICT_OK,
	VERDICT_NOT_READY, /* no receive posted */
	VERDICT_INVALID,   /* NAK invalid request */
	VERDICT_ACCESS,    /* NAK remote access error */
	VERDICT_LOCAL,     /* NAK operational error: our receive is bad */
};

/*
 * SEND and WRITE packets: writes data, completes receives. Takes p[0], which
 * is in order, and those that carry on its message: *taken in all.
 */
enum verdict responder_take(struct qp *qp, const struct packet *const *p,
			    unsigned count, unsigned *taken);

/*
 * Packets beyond a gap are kept until it closes (responder_hold.c): then one
 * packet sent again is enough, where the protocol asks for all that followed.
 */
void responder_hold(struct qp *qp, const struct packet *p);
/* Hands out those that follow on the last one taken; at most max. */
unsigned responder_held(struct qp *qp, const struct packet **out, unsigned max);
/* Those that were handed out are not needed any more. */
void responder_release(const struct packet *const *p, unsigned count);
void responder_release_all(struct qp *qp);
/* Something waits behind a gap. */
bool responder_has_held(const struct qp *qp);

/* Acknowledges what was taken, if somebody waits for that and may hear it. */
void responder_pay_ack(struct qp *qp);
/* NAKs the packet; unless it only came too early the pair is at its end. */
void responder_refuse(struct qp *qp, enum verdict v, uint32_t psn);

/* A READ that is next, and one that was asked for before. */
enum verdict responder_read(struct qp *qp, const struct packet *p);
void responder_read_again(struct qp *qp, const struct packet *p);
/* Sends more of the one that is active. */
void responder_read_turn(struct qp *qp);

/* Packet i of n that answer the request with number psn. */
struct response {
	uint32_t psn;
	uint32_t i;
	uint32_t n;
	const uint8_t *data;
	size_t bytes;
};
void responder_respond(struct qp *qp, const struct response *a);

#endif
