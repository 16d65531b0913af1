/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ends: how the two directions of a connection stand and end, as a machine. It
 * holds no connection: its input is the words that both ends and TCP say, and
 * its output is one value for each direction (ends_in, ends_out, ends_peer), or
 * what an event changes in those words (ends_change).
 *
 *   word    written by               holds
 *   rx, tx  this end, privately      STREAM_*
 *   own     this end, to the peer    PRODUCER_* of the ring that we write
 *   asks    this end, to the peer    CONSUMER_* of the ring that we read
 *   peer    the peer                 PRODUCER_* of the ring that we read
 *   asked   the peer                 CONSUMER_* of the ring that we write
 *   tcp     this end                 enum ends_tcp
 *
 * No other file than this one, ends.c and connection_ends.[ch] names a flag.
 *
 * Hostile: peer and asked may hold anything; every value of them has a
 * meaning.
 * Locking: none; values only.
 */
#ifndef SMC_R_ENDS_H
#define SMC_R_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* rx and tx */
#define STREAM_TCP             1u   /* this direction is the kernel's now */
#define STREAM_SHUT            2u   /* shutdown() by the program */
#define STREAM_BROKEN          4u   /* rx: the peer's cursor was impossible */
#define STREAM_FROZEN          8u   /* rx: the cursor must not move any more */
#define STREAM_RESET           16u  /* rx: the peer died, our bytes unread */
#define STREAM_LEFT            32u  /* rx: TCP is reset, the program sees FIN */
#define STREAM_FIN_SENT        64u  /* our FIN is out; rx: the peer's, by us */
#define STREAM_PEER_SHUT_FIRST 128u /* tx: before our own half */
#define STREAM_DRAIN_TOLD      256u /* rx: the peer was told that all is read */
#define STREAM_ERROR_PENDING   512u /* rx: the error is for the next call */

/* own and peer */
#define PRODUCER_FIN     1u  /* shutdown for writing; no byte follows */
#define PRODUCER_SEALED  2u  /* the stream goes on over TCP */
#define PRODUCER_CLOSED  4u  /* the last holder closed; TCP FIN follows */
#define PRODUCER_SHUT    8u  /* shutdown both ways; TCP FIN follows */
#define PRODUCER_RECALLS 16u /* what is not read goes over TCP: recall.h */
#define PRODUCER_HALVED  32u /* TCP's FIN is out for PRODUCER_FIN alone */
#define PRODUCER_ABORTED 64u /* a peer beside which TCP says nothing: reset */

/* asks and asked */
#define CONSUMER_DEMOTE 1u /* asks the writer to seal */
#define CONSUMER_FROZEN 2u /* cursor is final: send the rest over TCP */

/* What TCP tells of the peer's end. */
enum ends_tcp {
	ENDS_TCP_OPEN,
	ENDS_TCP_ENDED,  /* a FIN, or a reset, that is the end of the peer */
	ENDS_TCP_SILENT, /* nothing, whatever it does: the peer alone tells */
};

struct ends_words {
	uint32_t rx;
	uint32_t tx;
	uint32_t own;
	uint32_t asks;
	uint32_t peer;
	uint32_t asked;
	uint32_t tcp;
	uint32_t
	    error; /* that the program was not told of (SO_ERROR), 0 none */
};

/* What follows the bytes that lie in the ring which we read. */
enum ends_in {
	IN_RING,     /* more of them */
	IN_FROZEN,   /* nothing: the cursor is final, they go over TCP */
	IN_RECALLED, /* nothing: the writer takes them back to TCP */
	IN_DRAIN,    /* what TCP has */
	IN_TCP,      /* the ring is over: TCP has everything */
	IN_END,      /* the end of file */
	IN_RESET,    /* an error, once */
	IN_BROKEN,   /* the same; the ring is not to be believed */
};

/* What becomes of a byte that the program writes. */
enum ends_out {
	OUT_RING,
	OUT_ASKED, /* the ring is to be sealed first: the peer asked for it */
	OUT_TCP,   /* it goes over TCP */
	OUT_GONE,  /* the peer reads no more: TCP knows what that means */
	OUT_LEFT,  /* it is taken, and lost: the peer has closed */
	OUT_SHUT,  /* EPIPE: the program has shut this half */
	OUT_RESET, /* an error, which is told first */
};

/* How far the peer has ended, in the order in which that happens. */
enum ends_peer {
	PEER_OPEN,
	PEER_HALF,     /* it shut its half; TCP has no FIN of that */
	PEER_HALF_FIN, /* TCP has */
	PEER_SHUT,     /* it shut both halves */
	PEER_CLOSED,
	PEER_GONE, /* TCP told of its end */
};

enum ends_in ends_in(const struct ends_words *w);
enum ends_out ends_out(const struct ends_words *w);
enum ends_peer ends_peer(const struct ends_words *w);

/* What happens to an end of a connection. */
enum ends_event {
	/* The program */
	ENDS_SHUTS_IN,
	ENDS_SHUTS_OUT,
	ENDS_SHUTS_BOTH, /* behind the two: TCP is shut next */
	ENDS_CLOSES,
	ENDS_CLOSES_UNHEARD, /* the client's Confirm was not read: FIN as well
			      */
	ENDS_ABORTS,         /* the link service, for a peer on another host */
	/* Halves: half_close.h */
	ENDS_FIN_IS_DUE,
	ENDS_FIN_IS_SENT,
	ENDS_PEERS_FIN_IS_SENT, /* by us, in its place */
	ENDS_DRAIN_IS_TOLD,
	/* Back to TCP: demote.h, recall.h */
	ENDS_ASKS_SEAL,
	ENDS_ASKS_REST,
	ENDS_FREEZES,
	ENDS_THAWS,
	ENDS_RECALLS,
	ENDS_RECALLS_NOT,
	ENDS_PEER_RECALLS_NOT, /* it died over it */
	ENDS_SEALS,
	ENDS_WRITES_TCP, /* without a seal: nobody reads the ring */
	ENDS_READS_TCP,
	/* The peer: tcp_end.h */
	ENDS_BEGINS,
	ENDS_PEER_ENDS,
	ENDS_PEER_RESETS,
	ENDS_PEER_BREAKS,
	ENDS_PEER_LEAVES,
	ENDS_LEFT_IS_OVER, /* the program wrote to it, or shut its half */
	/* The program's next call is to be told of an error, and was. */
	ENDS_OWES_ERROR,
	ENDS_ERROR_IS_TOLD,

	ENDS_EVENTS
};

/* Bits to set in the words of this end, and those to take away. Private words
 * come first: a peer that sees its word finds ours changed. */
struct ends_change {
	uint32_t rx, rx_off;
	uint32_t tx;
	uint32_t own, own_off;
	uint32_t asks;
	uint32_t peer_off;
	bool sets_tcp;
	enum ends_tcp tcp;
};
struct ends_change ends_change(const struct ends_words *w, enum ends_event e);

/* The peer's half ended by a word in the ring, and TCP carried none of its
 * bytes: its kernel may not have seen how it ended. */
static inline bool ends_by_ring(const struct ends_words *w)
{
	return (w->peer & (PRODUCER_FIN | PRODUCER_SEALED)) == PRODUCER_FIN;
}

/* TCP's FIN is that of a half, or of both while the peer is still there. */
static inline bool ends_fin_is_half(const struct ends_words *w)
{
	return (w->peer & PRODUCER_FIN) && !(w->peer & PRODUCER_CLOSED) &&
	       ((w->peer & (PRODUCER_HALVED | PRODUCER_SHUT)) ||
		(w->rx & STREAM_FIN_SENT));
}

/* The peer itself sent that FIN. */
static inline bool ends_fin_went_out(const struct ends_words *w)
{
	return w->peer & PRODUCER_HALVED;
}

/* It shut its half alone, by the ring, and is still there. */
static inline bool ends_half_by_ring(const struct ends_words *w)
{
	return ends_by_ring(w) &&
	       !(w->peer & (PRODUCER_CLOSED | PRODUCER_SHUT));
}

/* Its FIN is to be TCP's first: ours is not out, nor was our half shut
 * first. */
static inline bool ends_peer_was_first(const struct ends_words *w)
{
	return !(w->tx & (STREAM_FIN_SENT | STREAM_TCP)) &&
	       (w->tx & (STREAM_SHUT | STREAM_PEER_SHUT_FIRST)) != STREAM_SHUT;
}

/* It is gone by its own word. */
static inline bool ends_close_was_told(const struct ends_words *w)
{
	return w->peer & PRODUCER_CLOSED;
}

/* It told of the end of its half, wherever that is. */
static inline bool ends_fin_was_told(const struct ends_words *w)
{
	return w->peer & PRODUCER_FIN;
}

static inline bool ends_is_sealed(const struct ends_words *w)
{
	return w->peer & PRODUCER_SEALED;
}

static inline bool ends_reads_tcp(const struct ends_words *w)
{
	return w->rx & STREAM_TCP;
}

static inline bool ends_writes_tcp(const struct ends_words *w)
{
	return w->tx & STREAM_TCP;
}

static inline bool ends_in_is_shut(const struct ends_words *w)
{
	return w->rx & STREAM_SHUT;
}

static inline bool ends_out_is_shut(const struct ends_words *w)
{
	return w->tx & STREAM_SHUT;
}

/* The program shut both. TCP is, too, then, and answers whatever comes with a
 * reset. */
static inline bool ends_both_are_shut(const struct ends_words *w)
{
	return w->rx & w->tx & STREAM_SHUT;
}

/* ... and the peer was told. */
static inline bool ends_says_shut(const struct ends_words *w)
{
	return w->own & PRODUCER_SHUT;
}

static inline bool ends_was_reset(const struct ends_words *w)
{
	return w->rx & STREAM_RESET;
}

/* A peer beside which TCP is silent broke the connection. */
static inline bool ends_was_aborted(const struct ends_words *w)
{
	return w->peer & PRODUCER_ABORTED;
}

/* The peer closed in order as the program is to see it, although TCP was
 * reset. */
static inline bool ends_was_left(const struct ends_words *w)
{
	return w->rx & STREAM_LEFT;
}

/* The reader's cursor is final: the rest is to go over TCP. */
static inline bool ends_rest_is_asked(const struct ends_words *w)
{
	return w->asked & CONSUMER_FROZEN;
}

#endif
