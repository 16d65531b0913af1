/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * close: how a connection on a link ends, as a machine (RFC 7609, with
 * the states and the numbers that Linux shows). It sends nothing and waits
 * for nothing: it says which flags go out and what state that leads to.
 *
 * The flags are those of the CDC message (cdc_wire.h). They add up: once a
 * flag was sent, every later message carries it, so a message always has
 * the state flags of struct close.sent.
 *
 * A connection that is closed here keeps its RMBE until the peer has closed
 * too, for the peer may still write into it. CLOSE_CLOSED ends that.
 *
 * Locking: none; the owner serializes the calls for one connection.
 */
#ifndef SMC_R_CLOSE_H
#define SMC_R_CLOSE_H

#include <stdbool.h>
#include <stdint.h>

/* "app" waits for the own program, "peer" for the other end. */
enum close_state {
	CLOSE_ACTIVE = 1,
	CLOSE_INIT = 2, /* the handshake is not over */
	CLOSE_CLOSED = 7,
	CLOSE_PEER_CLOSE_WAIT1 = 20, /* ended here, nothing from the peer */
	CLOSE_PEER_CLOSE_WAIT2 = 21, /* ended here, the peer is done writing */
	CLOSE_APP_CLOSE_WAIT1 = 22,  /* the peer ended, we may still write */
	CLOSE_APP_CLOSE_WAIT2 = 23,  /* the peer ended, we are done writing */
	CLOSE_APP_FIN_CLOSE_WAIT = 24,
	CLOSE_PEER_FIN_CLOSE_WAIT = 25,
	CLOSE_PEER_ABORT_WAIT = 26, /* aborted here */
	CLOSE_PROCESS_ABORT = 27,   /* the peer aborted */
};

/* What the own program does. */
enum close_local {
	CLOSE_SHUTDOWN_WRITE,
	CLOSE_SHUTDOWN_BOTH,
	CLOSE_RELEASE, /* the last descriptor is gone */
};

struct close {
	enum close_state state;
	uint8_t sent;     /* enum cdc_state_flag, all that went out */
	uint8_t received; /* enum cdc_state_flag, all that came in */
	bool released;    /* the program has no descriptor any more */
};

struct close_action {
	/* First send what the program wrote, then a CDC with close.sent. Not
	 * before an abort: two ends that read no more would wait for ever. */
	bool flush;
	bool send;
	int error; /* 0, or -ENOTCONN for the program */
};

/* state is CLOSE_INIT or CLOSE_ACTIVE. */
void close_init(struct close *c, enum close_state state);

/* The handshake is over. */
void close_activate(struct close *c);

/* unread: received bytes are left, which turns an orderly end into an abort. */
struct close_action close_local(struct close *c, enum close_local what,
				bool unread);

/* The state flags of a CDC message; its data was taken in before. */
void close_peer(struct close *c, uint8_t flags);

/* The link group ended under the connection, or the peer breaks the rules. */
struct close_action close_abort(struct close *c);

/* Nothing more can come from the peer: its end is gone, or waited for enough.
 */
void close_expire(struct close *c);

/* 0, or what a program that sends gets: -EPIPE, -ECONNRESET, -ENOTCONN. */
int close_send_error(const struct close *c);

/* Is there nothing to read behind what has arrived? */
bool close_is_at_end(const struct close *c);

/* May the RMBE and the token be given up? */
bool close_is_over(const struct close *c);

/* As smcss prints it, "APPCLOSEWAIT1" and so on; "UNKNOWN" for another. */
const char *close_state_name(int state);

#endif
