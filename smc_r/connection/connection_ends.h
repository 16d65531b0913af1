/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connection_ends: the words that say how the directions of a connection
 * stand, in slot, RMB and process (protocol/ends.h says what they mean).
 *
 * Slow paths take all of them at once, by connection_ends(), and switch over
 * ends_in() or ends_out(). Fast paths ask whether anything was said at all:
 * one OR of words.
 *
 * Locking: none; words are atomic. An end may change behind a look at it; a
 * caller for which that matters holds the stream lock, or looks again.
 */
#ifndef SMC_R_CONNECTION_ENDS_H
#define SMC_R_CONNECTION_ENDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/connection/connection.h"
#include "smc_r/protocol/ends.h"

/* All that both ends and TCP say, in that order: bytes that are looked for
 * afterwards were written before the peer's words. Of a connection without an
 * element the peer has said nothing. */
struct ends_words connection_ends(const struct connection *c);

static inline enum ends_out connection_out(const struct connection *c)
{
	struct ends_words w = connection_ends(c);

	return ends_out(&w);
}

static inline enum ends_peer connection_peer(const struct connection *c)
{
	struct ends_words w = connection_ends(c);

	return ends_peer(&w);
}

/* Applies what the event changes: private words, then those for the peer, with
 * all that was stored before. True: it was new; some other thread or process
 * had not done it already. errno stays. */
bool connection_end(struct connection *c, enum ends_event e);

/* ---- one word, for paths that are taken with each message ---- */

/* Does TCP carry what follows the last byte of the ring that we read? */
static inline bool stream_is_sealed(const struct connection *c)
{
	return __builtin_expect(
	    atomic_load_explicit(&c->in_producer->flags, memory_order_acquire) &
		PRODUCER_SEALED,
	    0);
}

/* Is the peer on another host, beside a TCP connection that tells nothing of
 * its end? No more when the bytes go over TCP. */
static inline bool connection_is_far(const struct connection *c)
{
	return __builtin_expect(c->tcp.silent, 0) && !stream_is_sealed(c);
}

/* Nothing follows it at all. */
static inline bool stream_is_shut(const struct connection *c)
{
	return __builtin_expect(
	    atomic_load_explicit(&c->in_producer->flags, memory_order_acquire) &
		PRODUCER_FIN,
	    0);
}

/* Does TCP carry what lies in the ring unread, too (recall.h)? */
static inline bool stream_is_recalled(const struct connection *c)
{
	return __builtin_expect(
	    atomic_load_explicit(&c->in_producer->flags, memory_order_acquire) &
		PRODUCER_RECALLS,
	    0);
}

/* We do so with what the peer has not read. */
static inline bool stream_recalls(const struct connection *c)
{
	return atomic_load(&c->out_producer->flags) & PRODUCER_RECALLS;
}

/* The peer asks for a seal. */
static inline bool stream_seal_is_asked(const struct connection *c)
{
	return __builtin_expect(
	    relaxed_load(&c->out_consumer->flags) & CONSUMER_DEMOTE, 0);
}

/* ... that it has not got. */
static inline bool stream_seal_is_due(const struct connection *c)
{
	return stream_seal_is_asked(c) &&
	       !(atomic_load(&c->slot->tx.flags) & STREAM_TCP);
}

static inline bool stream_reads_tcp(const struct connection *c)
{
	return atomic_load(&c->slot->rx.flags) & STREAM_TCP;
}

static inline bool stream_writes_tcp(const struct connection *c)
{
	return atomic_load(&c->slot->tx.flags) & STREAM_TCP;
}

static inline bool stream_is_frozen(const struct connection *c)
{
	return atomic_load(&c->slot->rx.flags) & STREAM_FROZEN;
}

static inline bool stream_is_broken(const struct connection *c)
{
	return relaxed_load(&c->slot->rx.flags) & STREAM_BROKEN;
}

/* Did the peer shut both halves; did it shut its own before we shut ours? */
static inline bool stream_peer_is_shut(const struct connection *c)
{
	return atomic_load(&c->in_producer->flags) & PRODUCER_SHUT;
}

static inline bool stream_peer_shut_first(const struct connection *c)
{
	return atomic_load(&c->slot->tx.flags) & STREAM_PEER_SHUT_FIRST;
}

/* Is the FIN of the half that the program shut still owed to TCP? */
static inline bool stream_owes_fin(const struct connection *c)
{
	return __builtin_expect(
	    (relaxed_load(&c->slot->tx.flags) &
	     (STREAM_SHUT | STREAM_TCP | STREAM_FIN_SENT)) == STREAM_SHUT,
	    0);
}

/* Was the peer told that the program has shut both halves? */
static inline bool connection_says_shut(const struct connection *c)
{
	return atomic_load(&c->out_producer->flags) & PRODUCER_SHUT;
}

/* Did the peer say that its last holder closes? */
static inline bool stream_close_was_told(const struct connection *c)
{
	return atomic_load(&c->in_producer->flags) & PRODUCER_CLOSED;
}

/* Has the program shut a half: the one for reading, for writing, both? */
static inline bool connection_reads_no_more(const struct connection *c)
{
	return atomic_load(&c->slot->rx.flags) & STREAM_SHUT;
}

static inline bool connection_writes_no_more(const struct connection *c)
{
	return atomic_load(&c->slot->tx.flags) & STREAM_SHUT;
}

static inline bool connection_is_shut(const struct connection *c)
{
	return atomic_load(&c->slot->rx.flags) &
	       atomic_load(&c->slot->tx.flags) & STREAM_SHUT;
}

static inline bool connection_was_reset(const struct connection *c)
{
	return __builtin_expect(relaxed_load(&c->slot->rx.flags) & STREAM_RESET,
				0);
}

/* The program sees an orderly close of the peer, although TCP was reset, until
 * it sends something, or ends its half. */
static inline bool connection_was_left(const struct connection *c)
{
	return __builtin_expect(relaxed_load(&c->slot->rx.flags) & STREAM_LEFT,
				0) &&
	       !(atomic_load(&c->slot->tx.flags) & STREAM_SHUT);
}

/* Has nothing been said of the ring's end that a read must know of? */
static inline bool stream_in_is_plain(const struct connection *c)
{
	return !(relaxed_load(&c->in_producer->flags) |
		 relaxed_load(&c->slot->rx.flags) | relaxed_load(&c->dead));
}

/* ... that a write must know of? */
static inline bool stream_out_is_plain(const struct connection *c)
{
	return !(
	    relaxed_load(&c->in_producer->flags) | relaxed_load(&c->tcp.ended) |
	    relaxed_load(&c->slot->tx.flags) |
	    relaxed_load(&c->out_consumer->flags) | relaxed_load(&c->dead) |
	    (relaxed_load(&c->slot->rx.flags) &
	     (STREAM_RESET | STREAM_ERROR_PENDING)));
}

/* ... of either direction? */
static inline bool connection_is_plain(const struct connection *c)
{
	return !(relaxed_load(&c->slot->rx.flags) |
		 relaxed_load(&c->slot->tx.flags) |
		 relaxed_load(&c->in_producer->flags) |
		 relaxed_load(&c->out_consumer->flags) |
		 relaxed_load(&c->tcp.ended));
}

/* Did the peer say anything of either? */
static inline bool connection_peer_said(const struct connection *c)
{
	return relaxed_load(&c->out_consumer->flags) |
	       relaxed_load(&c->in_producer->flags);
}

static inline bool connection_tcp_ended(const struct connection *c)
{
	return relaxed_load(&c->tcp.ended);
}

/* ---- errors ---- */

/* An error behind what a call has moved already is for the next one (the
 * kernel's sk_err): 0, or that error, which is told now. */
static inline int connection_owed_error(struct connection *c)
{
	if (__builtin_expect(
		!(relaxed_load(&c->slot->rx.flags) & STREAM_ERROR_PENDING),
		1) ||
	    !connection_end(c, ENDS_ERROR_IS_TOLD))
		return 0;
	return (int)atomic_exchange(&c->slot->error, 0);
}

static inline bool connection_owes_error(const struct connection *c)
{
	return __builtin_expect(relaxed_load(&c->slot->rx.flags) &
				    STREAM_ERROR_PENDING,
				0) &&
	       atomic_load(&c->slot->error);
}

static inline void connection_owe_error(struct connection *c, int error)
{
	atomic_store(&c->slot->error, (uint32_t)error);
	connection_end(c, ENDS_OWES_ERROR);
}

#endif
