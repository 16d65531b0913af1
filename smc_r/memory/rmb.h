/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rmb: memory that two processes share, as both of them see it.
 *
 * One RMB is one sealed memfd, made by the process that accepted the first
 * connection of a link group. It holds `elements` full-duplex elements: per
 * element two RMBEs (one for each direction, a ring of rmbe_bytes) and a
 * control block with their cursors, as SMC-D keeps them in the segment:
 *
 *   header | RMBE 0, control, RMBE 1 | RMBE 0, control, RMBE 1 | ... | overflow
 * rings
 *
 * The control block lies between the RMBEs, and short messages at the end of
 * the one and the beginning of the other: so a conversation needs one page of
 * its element, and with thousands of them that is what counts. It lies at other
 * places of its page in other elements, as a cache finds room for a line by
 * that place.
 *
 * Cursors count bytes from 0 and never wrap (2^64). The byte at a cursor lies
 * at offset (cursor - shift) modulo rmbe_bytes, a power of two. The writer may
 * change the shift while the ring is empty, and tells it before the cursor:
 * so a conversation of small messages goes on using the same lines of a ring,
 * and not all of it, which no cache would hold for many connections. Side 0 is
 * the server end.
 *
 * At first an RMB has memory for the control blocks and the RMB_SHORT bytes
 * beside them, which is all that a short conversation needs: to get, and to
 * give back, all of two RMBEs takes longer than all else of a first contact.
 * The writer of an RMBE gets the rest when it wants to go there
 * (ring_memory.h).
 *
 * Behind the RMBEs each direction has an *overflow ring*: a second, larger
 * ring, whose memory is not there until a writer whose reader was late asks for
 * it (overflow.h). A bit of the shift says which of the two rings is meant. The
 * writer changes rings at a cursor, `switched`; bytes before it lie where the
 * shift `before` says. The ring that it goes to is empty then, so that there is
 * never more than one such cursor ahead of the reader.
 *
 * side[s] is written by side s alone, as the producer of its own ring and the
 * consumer of the other one's; but for
 *
 *   allowed | either side, when its own sndbuf or rcvbuf changed
 * (buffer_limit.h) rings_* | the side that rings: fetch and add armed_* | s
 * stores it; the other side takes it with an exchange, for | RMB_RINGING until
 * it has rung knock   | either side: compare and swap
 *
 * The lines are apart so that neither side's busy stores disturb what the other
 * one polls.
 *
 * Invariants, of each side for itself (linkgroup_rmb.c, linkgroup.c):
 *   R1  an element that is taken was free: neither busy, nor leaked, nor lent;
 *   R2  an element that is given back was busy;
 *   R3  an RMB has a reference for each busy element.
 *
 * Hostile: every word may be changed by the peer at any time. Load once, check
 * against private copies, then use. Payload may change under the reader; that
 * hurts only the writer's own stream. A cursor that leads to where no memory is
 * gives the reader zeros, and the memory is what the server has reserved.
 */
#ifndef SMC_R_RMB_H
#define SMC_R_RMB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/os/relaxed.h"

#define RMB_MAGIC        0x424d5253u
#define RMB_VERSION      13u
#define RMB_ELEMENTS_MAX 32u
#define RMB_RMBE_MIN     16384u   /* bytes; CLC size code 0 */
#define RMB_RMBE_MAX     1048576u /* bytes; CLC size code 6 */
#define RMB_OVERFLOW     2097152u /* bytes of an overflow ring, a power of two */
#define RMB_PAGE         4096u
#define RMB_LINE         64u
#define RMB_GAP          2048u /* bytes of an element beside its RMBEs */
#define RMB_SHORT        512u  /* bytes of a message beside the control block */
#define RMB_SHIFTS       8u    /* places in a page where that may lie */
#define RMB_LIMIT_MIN    4096u /* bytes; less is never allowed */
#define RMB_WAITERS      16    /* epoll instances with a bell word */
#define RMB_PLACES       16u   /* where the ready words may lie */
#define RMB_WAITER_BITS  256u  /* beside it: set the ready bit, too */

#define RMB_ARMED   1u /* in an armed word: somebody sleeps */
#define RMB_RINGING 2u /* ... and is being woken */

#define SIDE_SERVER 0
#define SIDE_CLIENT 1

/* producer.flags and consumer.flags: protocol/ends.h */

/* consumer.rest */
#define REST_OPEN   0u /* nobody */
#define REST_WRITER 1u /* its own engine does, or did */
#define REST_READER 2u /* the reader's does in the writer's place */

/* consumer.barrier */
#define READER_SLEEPS     1u /* beside writers without fences */
#define READER_REGISTERED 2u /* ... and barriers reach all its processes */

/* element.accept: which end was first */
#define ACCEPT_STANDS    0u
#define ACCEPT_TAKEN     1u /* the client: its Confirm follows */
#define ACCEPT_WITHDRAWN 2u /* the server: neither of us says a word more */
/* The server is on its way to that: what it wrote goes onto the TCP stream. If
 * it died over it, all of that is in the ring. */
#define ACCEPT_RESENDS   3u

/* element.knock: a client's token, or one of these; all compare and swap.
 * Only tokens have bit 2; bit 0 of one: the client sleeps on its data bell. */
#define KNOCK_SHUT   0u /* the server uses it, or it is memory no more */
#define KNOCK_OPEN   1u /* the server is done with it: a client may knock */
#define KNOCK_TAKING 2u /* the server is making it ready */
#define KNOCK_GONE   3u /* the client took it back, and is not out yet */
#define KNOCK_ASLEEP 1u

/*
 * What one side says, in four lines: what it wrote with each message; what the
 * peer looks at with each message, and hardly ever changes; how far it has
 * read, which the peer looks at when it needs room; the rest. Three structures
 * share them, as the names of a writer, a reader and a sleeper.
 */
struct rmb_producer {
	_Atomic uint64_t cursor;
	_Atomic uint32_t shift;    /* for bytes that are not consumed */
	_Atomic uint32_t before;   /* for bytes before `switched` */
	_Atomic uint64_t since;    /* sys_ticks: not empty, or at its end */
	_Atomic uint64_t switched; /* cursor: another ring from here on */
	/* The writer had read so much of the peer's when it wrote this. */
	_Atomic uint64_t heard;
	uint8_t pad1[24];
	_Atomic uint32_t flags;
	_Atomic uint32_t cpu; /* the writer's, plus one; 0 unknown */
	/* No fence lies between cursors and looks for a sleeper: a reader that
	 * sleeps on armed_data makes a barrier first (barrier.h). */
	_Atomic uint32_t unfenced;
	/* So many bytes of the ring may be in use, 0: all of it. Either side
	 * writes it. */
	_Atomic uint32_t limit;
	uint8_t pad2[112];
	_Atomic uint64_t recalled; /* the final cursor, plus one; 0 unknown */
	_Atomic uint64_t resent;   /* cursor: so far it is on TCP */
	/* The process that shut the half, and the socket's number there plus
	 * one; 0 unknown. A hint. */
	_Atomic uint32_t shut_pid;
	_Atomic uint32_t shut_fd;
	_Atomic uint32_t sndbuf; /* bytes, 0: not set by the program */
	uint8_t pad3[36];
};

struct rmb_consumer {
	uint8_t pad1[80];
	_Atomic uint32_t flags;
	_Atomic uint32_t cpu;
	_Atomic uint32_t rest;    /* end that sends what a frozen reader left */
	_Atomic uint32_t barrier; /* READER_*: takes part in barrier.h */
	uint8_t pad2[32];
	_Atomic uint64_t cursor;
	uint8_t pad3[84];
	_Atomic uint32_t rcvbuf;   /* bytes, 0: not set by the program */
	_Atomic uint32_t overflow; /* bytes of it that the reader sees: or 0 */
	uint8_t pad4[28];
};

struct rmb_wait {
	uint8_t pad1[96];
	_Atomic uint32_t armed_data; /* ring the data bell when bytes come */
	_Atomic uint32_t armed_room; /* ring the room bell when room comes */
	_Atomic uint32_t waiter;     /* epoll instance, 1..RMB_WAITERS-1 */
	_Atomic uint32_t ordered;    /* asks the writer for `since` */
	uint8_t pad2[116];
	/* The ringer counts here how many bytes the bells have been sent. */
	_Atomic uint32_t rings_data;
	_Atomic uint32_t rings_room;
	uint8_t pad3[20];
};

union rmb_side {
	struct rmb_producer producer;
	struct rmb_consumer consumer;
	struct rmb_wait wait;
};

struct rmb_element {
	union rmb_side side[2];     /* what it writes, reads, sleeps on */
	_Atomic uint32_t epoch;     /* grows with each use; server writes */
	_Atomic uint32_t released;  /* last epoch the client is done with */
	_Atomic uint32_t confirmed; /* ... the server has read its Confirm */
	_Atomic uint32_t confirms;  /* ... that the client is sending it for */
	_Atomic uint32_t
	    first_burst; /* ... the client writes first in it: first_burst.h */
	_Atomic uint32_t accept; /* ACCEPT_*; both compare and swap */
	_Atomic uint64_t knock;  /* linkgroup_knock.h */
	/* A link service tells why the connection went back to TCP (reason.h),
	 * and what the peer's Decline said; and its name for a far_hello. */
	_Atomic uint32_t reason;
	_Atomic uint32_t peer_reason;
	_Atomic uint64_t ticket;
	_Atomic uint32_t settled; /* the last epoch whose outcome it knows */
	uint8_t pad[12];
};

struct rmb_waiters {
	_Atomic uint32_t armed[RMB_WAITERS];
};

/* An element has one bit, a side one line. */
struct rmb_ready {
	_Atomic uint64_t bits[2][8]; /* [side that waits], the first of each */
};

/* A cache finds room for a line by its place in a page, and a wait reads the
 * ready words of all RMBs: so they do not all lie in the same place. */
struct rmb_header {
	uint32_t magic;
	uint32_t version;
	uint32_t elements;
	uint32_t rmbe_bytes;
	_Atomic uint32_t retired; /* the server gave it up; client: unmap */
	uint32_t place;           /* which of the ready words are used */
	uint32_t overflow_bytes;  /* 0: there are none */
	/* Counts connections with a client that found nothing open to knock
	 * at. */
	_Atomic uint32_t no_element_open;
	uint8_t pad[32];
	struct rmb_waiters waiters[2]; /* [side that sleeps] */
	struct rmb_ready ready[RMB_PLACES];
};

_Static_assert(sizeof(struct rmb_producer) == 256, "four lines");
_Static_assert(sizeof(struct rmb_consumer) == 256, "the same");
_Static_assert(sizeof(struct rmb_wait) == 256, "the same");
_Static_assert(offsetof(struct rmb_producer, flags) == 64 &&
		   offsetof(struct rmb_producer, limit) == 76 &&
		   offsetof(struct rmb_consumer, flags) == 80 &&
		   offsetof(struct rmb_consumer, barrier) == 92 &&
		   offsetof(struct rmb_wait, armed_data) == 96 &&
		   offsetof(struct rmb_wait, ordered) == 108,
	       "the second line, side by side");
_Static_assert(offsetof(struct rmb_consumer, cursor) == 128, "the third");
_Static_assert(offsetof(struct rmb_producer, recalled) == 192 &&
		   offsetof(struct rmb_producer, sndbuf) == 216 &&
		   offsetof(struct rmb_consumer, rcvbuf) == 220 &&
		   offsetof(struct rmb_consumer, overflow) == 224 &&
		   offsetof(struct rmb_wait, rings_data) == 228 &&
		   offsetof(struct rmb_wait, rings_room) == 232,
	       "the fourth, side by side");
_Static_assert(sizeof(struct rmb_element) == 576, "nine lines");
_Static_assert(sizeof(struct rmb_header) == 2240, "35 lines, of a page");
_Static_assert(RMB_GAP + RMB_SHORT + (RMB_SHIFTS - 1) * RMB_LINE +
		       sizeof(struct rmb_element) + RMB_SHORT <=
		   RMB_PAGE,
	       "what a conversation needs lies in a page");

/* A mapping of one RMB by one of its two sides. */
struct rmb_map {
	uint8_t *base;
	size_t bytes;
	uint32_t elements;
	uint32_t rmbe_bytes;
	uint32_t overflow_bytes; /* 0: none, or none that we see */
	uint32_t place;
};

/* Counts bytes without overflow rings; a reservation must take so many. */
size_t rmb_bytes(uint32_t elements, uint32_t rmbe_bytes);

/* Makes, seals and maps an RMB, with overflow rings where the limits of
 * this process allow files and mappings of that size; *memfd is for the peer
 * and is the caller's to close. 0, -ENOMEM, -errno. */
int rmb_create(struct rmb_map *m, uint32_t elements, uint32_t rmbe_bytes,
	       int *memfd);

/* Maps what the peer sent, if it is what it must be: a sealed memfd of tmpfs
 * whose size fits. Overflow rings are left out where there are no addresses for
 * them. memfd stays open. 0, or -EPROTO, -errno. */
int rmb_map(struct rmb_map *m, int memfd, uint32_t elements,
	    uint32_t rmbe_bytes, uint32_t overflow_bytes);

void rmb_unmap(struct rmb_map *m);

static inline struct rmb_header *rmb_header(const struct rmb_map *m)
{
	return (struct rmb_header *)(void *)m->base;
}

/* Returns the ready words of the side that waits. */
static inline _Atomic uint64_t *rmb_ready(const struct rmb_map *m, int side)
{
	return &rmb_header(m)->ready[m->place].bits[side][0];
}

static inline struct rmb_element *rmb_element(const struct rmb_map *m,
					      uint32_t i)
{
	size_t stride = 2 * (size_t)m->rmbe_bytes + RMB_GAP;
	size_t shift = RMB_SHORT + (i / 2 + m->place) % RMB_SHIFTS * RMB_LINE;

	return (struct rmb_element *)(void *)(m->base + RMB_PAGE + i * stride +
					      shift + m->rmbe_bytes);
}

/* The ring that `side` writes, and its overflow ring; NULL: none. */
uint8_t *rmb_ring(const struct rmb_map *m, uint32_t element, int side);
uint8_t *rmb_overflow(const struct rmb_map *m, uint32_t element, int side);

/* Gives memory to the first bytes of the RMBE that `side` writes, as its writer
 * must not be killed by the lack of it later: 0, -ENOMEM, -errno. */
int rmb_ring_fill(const struct rmb_map *m, uint32_t element, int side,
		  size_t bytes);

/* fill gives memory to the overflow ring that `side` writes, if there is one,
 * as its writer must not be killed by the lack of it later: 0, -ENOMEM, -errno.
 * empty takes the memory away if it was ever used, from all processes. */
int rmb_overflow_fill(const struct rmb_map *m, uint32_t element, int side);
void rmb_overflow_empty(const struct rmb_map *m, uint32_t element, int side);

/* Puts it back to the state of a new connection. Server side only. */
void rmb_element_reset(const struct rmb_map *m, uint32_t element);

/* The client has let go of this use of the element. */
void rmb_element_release(struct rmb_element *e);

bool rmb_size_is_valid(uint32_t elements, uint32_t rmbe_bytes,
		       uint32_t overflow_bytes);

#endif
