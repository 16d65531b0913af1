/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_stream: one SMC-R connection as the link service sees it, between the two
 * rings of an element and CDC messages (RFC 7609, 4.5 and appendix A.4). Pure:
 * it posts nothing and waits for nothing.
 *
 * Positions count bytes from 0 and never wrap. On the wire a position is a
 * cursor: the one of a producer modulo the RMBE that it writes to, which is
 * the peer's for what we send; the one of a consumer modulo the RMBE that it
 * reads. So a byte at position p lies at p modulo size in the peer's RMBE, and
 * what the peer writes lies at p modulo own_size in ours.
 *
 * Bytes that we sent stay in the ring of our program until the CDC message
 * behind them has completed: the RNIC may read them again until then, and a
 * link that takes over repeats them. They need not stay until the peer has read
 * them, as its cursor may never tell: a peer whose RMBE is five times the ring
 * of our program sends no update before our program would wait for one.
 *
 * The peer's cursors come from the peer. One that is behind is no news, as a
 * message may be overtaken; one that cannot be ends the connection.
 *
 * Locking: none; the owner serializes the calls for one connection.
 */
#ifndef SMC_R_RC_STREAM_H
#define SMC_R_RC_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "smc_r/protocol/cdc_wire.h"
#include "smc_r/protocol/close.h"

#define RC_STREAM_CDCS 8u /* on their way at once; bytes coalesce meanwhile */

/* A CDC message that has not completed. */
struct rc_stream_cdc {
	uint16_t sequence;
	uint64_t written; /* position behind the bytes that it follows */
};

struct rc_stream {
	uint32_t own_size;  /* bytes of the RMBE that the peer writes to */
	uint32_t peer_size; /* ... that we write to */
	uint32_t peer_token;
	struct close close;
	bool flush;   /* the flags in close.sent come behind all bytes */
	bool due;     /* a message is owed, whatever else there is */
	uint8_t said; /* enum cdc_state_flag, of the last message */

	/* What we send. */
	uint64_t posted;    /* so far WRITEs were posted */
	uint64_t completed; /* so far they are done */
	uint64_t consumed;  /* so far the peer has read */
	uint16_t sequence;  /* of the last message */
	uint32_t first;     /* the oldest of those on their way */
	uint32_t count;     /* of them */
	struct rc_stream_cdc cdc[RC_STREAM_CDCS];

	/* What we receive. */
	uint64_t received; /* so far the peer has written */
	uint64_t told;     /* so far we read, as the peer knows */
	uint16_t peer_sequence;
	uint8_t peer_flags; /* enum cdc_producer_flag, of the last message */
	bool update_owed;   /* the peer asked for our cursor */
};

/* What the program has done by now. Positions only grow. */
struct rc_stream_view {
	uint64_t written; /* into its ring: at or behind rc_stream_released() */
	uint64_t consumed; /* out of ours: at most `received` */
};

/* WRITEs and the message behind them, to be posted as one chain. */
struct rc_stream_post {
	unsigned writes; /* 0 .. 2 */
	struct rc_stream_write {
		uint64_t position; /* of the first byte, in the program's ring
				    */
		uint32_t offset;   /* in the peer's RMBE */
		uint32_t bytes;
	} write[2];
	struct cdc_message message;
};

/* What a message brought. */
struct rc_stream_news {
	bool bytes; /* `received` grew */
	bool room;  /* `consumed` grew */
	bool state; /* so did close.received */
};

/* Sizes are powers of two, 16 KiB .. 1 MiB. */
void rc_stream_init(struct rc_stream *s, uint32_t own_size, uint32_t peer_size,
		    uint32_t peer_token);

/*
 * Is anything to be posted now? If so it is taken as posted. Not while
 * RC_STREAM_CDCS are on their way, and nothing after a close that is over.
 */
bool rc_stream_next(struct rc_stream *s, const struct rc_stream_view *v,
		    struct rc_stream_post *out);

/* The send of this message completed; those before it have, too. */
void rc_stream_completed(struct rc_stream *s, uint16_t sequence);

/* A message came. 0; -EPROTO: its cursors cannot be, and nothing has changed:
 * the owner aborts. */
int rc_stream_receive(struct rc_stream *s, const struct cdc_message *m,
		      struct rc_stream_news *news);

/* What the program does with its end; 0 or -ENOTCONN, as close_local(). */
int rc_stream_end(struct rc_stream *s, enum close_local what, bool unread);
/* The connection is broken, by the peer or here. */
void rc_stream_abort(struct rc_stream *s);
/* Its link is gone, or the peer was waited for enough: it is over. */
void rc_stream_expire(struct rc_stream *s);

/* How far the program's ring may be used again. */
static inline uint64_t rc_stream_released(const struct rc_stream *s)
{
	return s->completed;
}

/* What the program is to be told of its peer. */
enum rc_stream_end {
	RC_STREAM_OPEN,
	RC_STREAM_FIN,    /* the end of file behind what was received */
	RC_STREAM_CLOSED, /* ... and the peer reads no more */
	RC_STREAM_RESET,
};
enum rc_stream_end rc_stream_peer(const struct rc_stream *s);

/* May the rings and the token be given up? Nothing of ours is on its way, and
 * the peer has ended, too. */
bool rc_stream_is_over(const struct rc_stream *s);

#endif
