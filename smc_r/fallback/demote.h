/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * demote: a connection goes back to plain TCP in mid-stream, without losing a
 * byte. The two directions are independent:
 *
 *  - we write: the ring is sealed where it stands; later bytes go to TCP, and
 *    the reader goes over when it has drained the ring;
 *  - we read and stay: the writer is asked to seal;
 *  - we read and somebody without the engine follows us (exec, a passed
 *    descriptor): our cursor is frozen, the writer sends what lies behind it
 *    over TCP, and only then seals.
 *
 * When both directions are the kernel's the element is given back.
 *
 * Locking: takes the stream locks, one at a time.
 */
#ifndef SMC_R_DEMOTE_H
#define SMC_R_DEMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/connection/connection.h"

/* The peer has this time to seal. It need not be longer: if the peer seals
 * later, the successor just gets its bytes later. */
#define DEMOTE_WAIT_MS 100

/* Starts demotion in both directions; this process goes on using the socket.
 * Any phase. */
void demote(struct connection *c, int fd, uint32_t reason);

/* It says how a successor comes to the descriptor. */
enum successor {
	SUCCESSOR_GIVEN,    /* on purpose */
	SUCCESSOR_INHERITS, /* it survives exec: nobody took it away */
	SUCCESSOR_BESIDE,   /* a spawned child has it: we go on as well */
};

/*
 * Does what demote() does for a successor without the engine; returns when the
 * kernel's socket is the whole truth: true, or false when the peer did not
 * answer, or when bytes that nobody can send again stay with us for a successor
 * that inherits.
 */
bool demote_for_successor(struct connection *c, int fd, uint32_t reason,
			  enum successor successor);

/* Does what the peer asked for, if it did. Called from every wait. */
void demote_serve(struct connection *c, int fd);

/* Makes the connection NATIVE when both directions are the kernel's. */
void demote_settle(struct connection *c);

/*
 * A process that dies with bytes unread makes TCP reset the connection. When
 * the unread ones lie in a ring that either end has left, nobody but its kernel
 * is sure to do so: as long as there are any, its socket is one that resets
 * when it is closed. Call it when there may be some, or no more.
 */
void demote_guard(struct connection *c, int fd);

/* Was that done to the socket? Then a read must see whether it still holds. */
static inline bool demote_is_guarded(const struct connection *c)
{
	return __builtin_expect(
	    relaxed_load(&c->slot->socket_flags) & SOCKET_GUARDED, 0);
}

/* What the peer recalls (recall.h) is the kernel's: true, or not yet. */
bool demote_recalled(struct connection *c, int fd);

/* The reading direction is the kernel's from here on. What the program shut for
 * reading is so only now: TCP would not tell any more what comes from what
 * ends. */
void demote_input(struct connection *c, int fd);

#endif
