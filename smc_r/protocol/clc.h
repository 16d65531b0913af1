/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc: the handshake of one connection, as a machine that is told what
 * happened and says what to do. It reads no clock and no descriptor.
 *
 * The rule that makes an undecided connection revocable: the stream of each
 * side begins with framed messages, and application data comes after them.
 *
 *	client:	Proposal, then Confirm or Decline; or Decline alone
 *	server:	Accept or Decline; nothing if the client began with Decline
 *
 * A side that gets a Decline takes it from the stream and is on TCP. The client
 * may decline until it has sent its Confirm. The server answers a Proposal with
 * exactly one message, whatever came in between (none, if that is there
 * already: the client may have closed); with an Accept it has committed itself
 * and waits for the client's word. So a side that declined knows what of the
 * peer's stream is still to be skipped. Only two Declines that cross leave it
 * in doubt; then it looks at the next bytes before it passes them on
 * (CLC_LOOK).
 *
 * A server that follows RFC 7609 to the letter strictly takes turns, and it
 * would read a crossing Decline as data. Towards a server that is not known
 * to run this code, a client that aborts therefore waits for the answer, or
 * for the deadline; then it declines all the same.
 *
 * A server never sends first, not even at its deadline: a client that never
 * got the TCP option back would read a Decline as data. It goes on to TCP
 * (CLC_LATE), and declines if a Proposal comes after all. If it sent data by
 * then, a client that runs this code takes that for its Decline; any other one
 * is reset.
 *
 * Locking: none; the owner serializes the calls for one machine.
 */
#ifndef SMC_R_CLC_H
#define SMC_R_CLC_H

#include "smc_r/protocol/clc_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits in milliseconds that Linux uses, for those that the owner sets. */
#define CLC_ANSWER_MS      6000
#define CLC_CONFIRM_MS     6000
#define CLC_LINK_CLIENT_MS 5000
#define CLC_LINK_SERVER_MS 3000
/* Longest wait for the rest of what may be a Decline that crossed ours. */
#define CLC_LOOK_MS        1000

enum clc_state {
	CLC_START,           /* client: nothing sent yet */
	CLC_AWAIT_ACCEPT,    /* client: Proposal sent */
	CLC_PREPARE_CONFIRM, /* client: Accept is here, its end is not ready */
	CLC_AWAIT_PROPOSAL,  /* server: nothing received yet */
	CLC_PREPARE_ACCEPT, /* server: Proposal is here, its end is not ready */
	CLC_AWAIT_CONFIRM,  /* server: Accept sent, committed */
	CLC_AWAIT_LINK,     /* both: the link has to be confirmed */
	CLC_SKIP_ANSWER,    /* client: declined, the answer is on its way */
	CLC_LATE,           /* server: went on to TCP without a Proposal */
	CLC_LOOK,           /* declined; the peer's Decline may be on its way */
	CLC_ON_SMC,
	CLC_ON_TCP,
	CLC_FAILED,
	CLC_STATE_COUNT
};

/* What to send. It is sent completely before the machine is told more. */
enum clc_send {
	CLC_SEND_NOTHING,
	CLC_SEND_PROPOSAL,
	CLC_SEND_ACCEPT,
	CLC_SEND_CONFIRM,
	CLC_SEND_DECLINE, /* clc_decline() fills it in */
};

/* What to do after that. */
enum clc_next {
	CLC_WAIT,    /* nothing new: for bytes of the peer, or the deadline */
	CLC_PREPARE, /* the own end, then clc_commit() or clc_abort() */
	CLC_USE_SMC, /* final: no byte on the TCP stream any more */
	CLC_USE_TCP, /* final: both directions carry application data */
	CLC_FAIL,    /* final: the stream is unusable, reset the connection */
};

struct clc_action {
	enum clc_send send;
	enum clc_next next;
	uint16_t take; /* bytes to remove from what clc_feed() was shown */
};

struct clc_config {
	bool server;
	bool peer_is_ours; /* the other side is known to run this code */
	/* Waits in milliseconds; 0 waits for ever. */
	uint32_t answer_ms;  /* for the peer's first message */
	uint32_t confirm_ms; /* server: for Confirm or Decline */
	uint32_t link_ms;    /* for the confirmation of the link */
};

struct clc {
	enum clc_state state;
	struct clc_config config;
	uint64_t deadline_ms; /* 0: none; else call clc_time() then */
	uint32_t reason;      /* why not SMC, REASON_NONE if nothing yet */
	uint32_t peer_reason; /* the code in the peer's Decline, 0 if none */
	uint8_t version;      /* of the next message: 1 or 2 */
	bool offers_v1;       /* client: what the Proposal offered */
	bool offers_v2;
	bool wants_link;                    /* see clc_want_link() */
	bool wrote;                         /* see clc_wrote() */
	uint8_t peer_id[CLC_PEER_ID_BYTES]; /* from Proposal or Accept */
};

/* now_ms is the owner's monotonic clock, in all calls of one machine. */
void clc_init(struct clc *c, const struct clc_config *config, uint64_t now_ms);

/* Client: proposes. The Proposal tells what the server may choose from. */
struct clc_action clc_start(struct clc *c, const struct clc_proposal *proposal,
			    uint64_t now_ms);

/*
 * Shows the n bytes at the head of the peer's stream, peeked and not removed;
 * CLC_BYTES_MAX of them are always enough. Removes nothing itself: the owner
 * takes action.take bytes, and nothing else, from the stream. If take is not
 * 0, *message holds what they were. Called again when there is more, or after
 * take bytes went away and others are there.
 */
struct clc_action clc_feed(struct clc *c, const uint8_t *bytes, size_t n,
			   struct clc_message *message, uint64_t now_ms);

/* The peer's stream ended before the handshake was over. */
struct clc_action clc_closed(struct clc *c);

/* Nothing happens before the deadline. */
struct clc_action clc_time(struct clc *c, uint64_t now_ms);

/*
 * This side does not want SMC, or cannot have it; REASON_TIMEOUT: it must
 * write now. On CLC_WAIT it has to wait for the peer. A server that gets
 * CLC_USE_SMC in spite of it must go back to TCP by other means: the client had
 * committed itself.
 */
struct clc_action clc_abort(struct clc *c, uint32_t reason, uint64_t now_ms);

/* This side's end is ready, after CLC_PREPARE. */
struct clc_action clc_commit(struct clc *c, uint64_t now_ms);

/*
 * Before the commit that sends Accept or Confirm: the link is new and must be
 * confirmed by LLC messages, during which both sides may still decline. After
 * Confirm there is one more CLC_PREPARE, whose clc_commit() reports that the
 * link is confirmed.
 */
void clc_want_link(struct clc *c);

/* Both sides have agreed on SMC, without a message. */
void clc_skip(struct clc *c);

/* Fills everything but peer_id and os into the Decline that is to be sent. */
void clc_decline(const struct clc *c, struct clc_decline *out);

/* May application data be sent on the TCP stream? Before CLC_USE_TCP too. */
bool clc_can_write(const struct clc *c);
/* Must be called when application data was sent before the handshake is
 * over. */
void clc_wrote(struct clc *c);

/* Is the handshake over, in whichever way? */
bool clc_is_over(const struct clc *c);

/* Lower-case words, "await accept" and so on. */
const char *clc_state_name(int state);

#endif
