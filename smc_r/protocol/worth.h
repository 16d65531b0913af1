/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * worth: whether new connections of a place are worth SMC-R.
 *
 * A connection costs more to begin on SMC-R than on TCP, and gains with each
 * request and byte. What a short one loses is owed by its place (network
 * namespace, address, port); one that gained more pays back. Time pays back,
 * too: WORTH_SHARE of it may be lost. A place that owes WORTH_MOST goes to TCP,
 * and comes back when it owes WORTH_LEAST. Ends on TCP count as if they had
 * been on SMC-R, but never to more than WORTH_MOST. So:
 *  - short connections that come rarely stay on SMC-R;
 *  - whatever comes, no more than that share of time is lost in the long run,
 *    looking whether it has changed included;
 *  - 0.6 s after the last short connection the place is back on SMC-R, and
 *    sooner where long ones have ended on TCP;
 *  - short ones that come again then lose less than half of that: a place that
 *    was on TCP is wary until one has lost nothing. It goes there when it owes
 *    WORTH_WARY, and time pays nothing ahead.
 *
 * The state is one word, so that a compare-and-swap changes it: bit 0 says that
 * the place is on TCP, the rest when it will owe nothing, in microseconds of
 * any clock that does not go back, which is odd where the place is wary. 0:
 * nothing is known, so SMC-R.
 *
 * Pure. The BPF program is compiled from it too, so it uses nothing but
 * linux/types.h.
 *
 * Locking: none; all processors, and all processes that share it, call it. Of
 * an end that meets too many others nothing is noted.
 */
#ifndef SMC_R_WORTH_H
#define SMC_R_WORTH_H

#include <linux/types.h>

/* One microsecond in so many may be lost: half a hundredth. */
#define WORTH_SHARE      200
/* What may be owed, and the rest of it at which a place comes back. */
#define WORTH_MOST_US    4000
#define WORTH_LEAST_US   1000
/* A wary one may owe this. It has come back with the above, and must not go
 * again for one that is served by another process. */
#define WORTH_WARY_US    2000
/* One that gained, and many that did, pay ahead no more than that. */
#define WORTH_CREDIT_US  1000
/* What beginning costs more than on TCP: where client and acceptor share memory
 * already, where they exchange CLC messages, where another process than the
 * acceptor, a child of it mostly, has served, and where it is not known,
 * because it began on TCP. */
#define WORTH_KNOCK_US   100
#define WORTH_CLC_US     500
#define WORTH_ANOTHER_US 1000
#define WORTH_TCP_US     100
/* What is gained: a microsecond for so many bytes, and with each request. */
#define WORTH_BYTES      16384
#define WORTH_REQUEST_US 4
/* Beside such a life the beginning is nothing. */
#define WORTH_LIFE_US    1000000

enum worth_began {
	WORTH_BY_KNOCK,
	WORTH_BY_CLC,
	WORTH_FOR_ANOTHER,
	WORTH_ON_TCP,
};

/* Ends of connections, alike as far as is known. */
struct worth_ends {
	__u64 life_us;
	__u64 bytes;    /* of both directions */
	__u64 requests; /* messages of the client */
	__u32 count;
	__u32 began; /* enum worth_began */
};

/* What is kept of a place. Averages are of the last ends, for people to read;
 * they may be off where two ends meet. */
struct worth {
	__u64 word;
	__u64 ended_us; /* the last one */
	__u32 apart_us; /* ends, from each other */
	__u32 life_us;
	__u32 bytes;
	__u32 requests; /* of WORTH_REQUESTS connections */
};

#define WORTH_AVERAGED 8u
#define WORTH_REQUESTS 256u

/* One of so many ends on TCP is noted, and each one after such a time: to note
 * it costs a little. */
#define WORTH_NOTED_OF 16u
#define WORTH_NOTED_MS 4u

struct worth_notes {
	__u32 missed;   /* ends of which no note was made */
	__u32 noted_ms; /* when the last one was */
};

/* The flags of a word. */
#define WORTH_TCP  1ull
#define WORTH_WARY 2ull

#define WORTH_INLINE static inline __attribute__((always_inline, unused))

WORTH_INLINE __u64 worth_least(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* What one such connection loses on SMC-R; less than 0: it gains. */
WORTH_INLINE __s64 worth_loss_us(const struct worth_ends *e)
{
	__u64 gain =
	    worth_least(e->requests, WORTH_CREDIT_US) * WORTH_REQUEST_US +
	    worth_least(e->bytes / WORTH_BYTES, WORTH_CREDIT_US);
	__s64 cost = e->began == WORTH_BY_KNOCK      ? WORTH_KNOCK_US
		     : e->began == WORTH_BY_CLC      ? WORTH_CLC_US
		     : e->began == WORTH_FOR_ANOTHER ? WORTH_ANOTHER_US
						     : WORTH_TCP_US;

	if (e->life_us >= WORTH_LIFE_US)
		cost = 0;
	return cost - (__s64)worth_least(gain, WORTH_CREDIT_US);
}

/* The time until which it owes, from now on; it may be over. */
WORTH_INLINE __s64 worth_ahead_us(__u64 word, __u64 now_us)
{
	return (__s64)(word >> 1) - (__s64)now_us;
}

/* For how long the place stays on TCP, if nothing ends there; 0: it is on
 * SMC-R. */
WORTH_INLINE __u64 worth_tcp_us(__u64 word, __u64 now_us)
{
	__s64 left =
	    worth_ahead_us(word, now_us) - WORTH_LEAST_US * WORTH_SHARE;

	return (word & WORTH_TCP) && left > 0 ? (__u64)left : 0;
}

WORTH_INLINE __u64 worth_word(__s64 ahead_us, __u64 flags, __u64 now_us)
{
	__s64 at = (__s64)now_us + ahead_us;

	return ((__u64)(at > 0 ? at : 0) & ~1ull) << 1 | flags;
}

/* The word after these ends. */
WORTH_INLINE __u64 worth_after(__u64 word, const struct worth_ends *e,
			       __u64 now_us)
{
	const __s64 most = (__s64)WORTH_MOST_US * WORTH_SHARE;
	__s64 credit = (__s64)WORTH_CREDIT_US * WORTH_SHARE;
	__s64 before = worth_ahead_us(word, now_us), ahead, limit = most;
	__s64 loss = worth_loss_us(e);
	__u64 flags = loss > 0 ? word & WORTH_WARY : 0;

	if (worth_tcp_us(word, now_us))
		flags |= WORTH_TCP;
	else if (flags)
		limit = (__s64)WORTH_WARY_US * WORTH_SHARE;
	if (flags & WORTH_WARY)
		credit = 0;
	if (before < -credit)
		before = -credit;
	ahead =
	    before + loss * (__s64)worth_least(e->count, 1024) * WORTH_SHARE;
	if (ahead < -credit)
		ahead = -credit;
	if (ahead > limit) {
		flags = WORTH_TCP | (loss > 0 ? WORTH_WARY : 0);
		ahead = before > most ? before : most;
	}
	return worth_word(ahead, flags, now_us);
}

/* The word of a place that stays on TCP for so long, whatever ends there. */
WORTH_INLINE __u64 worth_paused(__u64 word, __u64 pause_us, __u64 now_us)
{
	__s64 ahead = worth_ahead_us(word, now_us);
	__s64 wanted = (__s64)pause_us + WORTH_LEAST_US * WORTH_SHARE;

	return worth_word(ahead > wanted ? ahead : wanted,
			  WORTH_TCP | (word & WORTH_WARY), now_us);
}

WORTH_INLINE __u32 worth_average(__u32 old, __u64 seen)
{
	__u64 sum =
	    (__u64)old * (WORTH_AVERAGED - 1) + worth_least(seen, 0xffffffff);

	return (__u32)(sum / WORTH_AVERAGED);
}

/* For how many ends this one stands; 0: it is not to be noted. */
WORTH_INLINE __u32 worth_stands_for(struct worth_notes *n, __u32 now_ms)
{
	__u32 missed = n->missed;

	if (missed < WORTH_NOTED_OF - 1 &&
	    now_ms - n->noted_ms < WORTH_NOTED_MS) {
		n->missed = missed + 1;
		return 0;
	}
	n->missed = 0;
	n->noted_ms = now_ms;
	return missed + 1;
}

/* Notes ends in the word and in the averages. */
WORTH_INLINE void worth_note(struct worth *w, const struct worth_ends *e,
			     __u64 now_us)
{
	__u64 ended = *(volatile __u64 *)&w->ended_us;
	__u64 word = *(volatile __u64 *)&w->word;
	__u64 apart = now_us > ended ? now_us - ended : 0;

	w->ended_us = now_us;
	if (ended && e->count)
		w->apart_us = worth_average(w->apart_us, apart / e->count);
	w->life_us = worth_average(w->life_us, e->life_us);
	w->bytes = worth_average(w->bytes, e->bytes);
	w->requests = worth_average(
	    w->requests, worth_least(e->requests, 0xffffff) * WORTH_REQUESTS);
	__sync_val_compare_and_swap(&w->word, word,
				    worth_after(word, e, now_us));
}

#endif
