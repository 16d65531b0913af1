/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_ready: which members of a large instance may be ready, without looking
 * at the others.
 *
 * The peer sets a bit in the RMB's header when it tells us anything about an
 * element (connection.c); a wait reads one word for up to 32 connections. The
 * bit of a member that was found ready stays set. The bit of another member is
 * cleared, and then the member is looked at once more. The few members that
 * were ready in nearly every wait keep their bits for a while, so that the
 * cache line need not go to and fro between the ends with each message. A bit
 * too many costs a look; there is never one too few, because a thread that
 * changes what a member waits for sets it as well.
 *
 * Used from EPOLL_READY_MIN members on; below that a look at each is cheaper
 * than keeping bits.
 *
 * Locking: joining and leaving: engine lock. Scans take none: groups are never
 *          unmapped, and an RMB stays mapped a while after its end.
 *
 * The word of an RMB has one of 16 places in its header, so that the words of
 * all RMBs find room in a cache, and the pointers to the words lie side by
 * side.
 */
#ifndef SMC_R_EPOLL_READY_H
#define SMC_R_EPOLL_READY_H

#include "smc_r/epoll/epoll_set.h"

#define EPOLL_READY_MIN 64

/* The members of one instance that are elements of one RMB. */
struct epoll_group {
	struct rmb *rmb;
	_Atomic uint64_t *word;      /* its bits, in the RMB's header */
	struct rmb_waiters *waiters; /* ours, there */
	_Atomic uint32_t mask;       /* bit: element is a member */
	_Atomic uint32_t hot;        /* bit: was ready a moment ago */
	_Atomic uint32_t full;       /* bit: its bells fill up */
	struct epoll_member *_Atomic members[RMB_ELEMENTS_MAX];
};

/* What a look reads of all groups, side by side: so their words are asked for
 * without waiting for one another. A place that is free has a word that is
 * never set. Rows stay until the instance ends. */
#define EPOLL_ROW  28 /* places */
#define EPOLL_STEP 4  /* places that are read together */

struct epoll_row {
	struct epoll_row *_Atomic next;
	_Atomic uint32_t used; /* places, up to the last one ever taken */
	_Atomic uint64_t *_Atomic words[EPOLL_ROW];
	struct epoll_group *_Atomic groups[EPOLL_ROW];
};

_Static_assert(EPOLL_ROW % EPOLL_STEP == 0, "no step leaves the row");

/* Engine lock held. The member is attached, and its waiter word is ours. */
void epoll_ready_join(struct epoll_member *m);
void epoll_ready_leave(struct epoll_member *m);
/* All have left: the instance goes. */
void epoll_ready_end(struct epoll *e);
/* The instance grew: its members ask for bits from here on. */
void epoll_ready_begin(struct epoll *e);

/* This member must be looked at. */
void epoll_ready_mark(struct epoll_member *m);

/* Calls look for each member whose bit is set, until it returns false. A look
 * that finds the member ready says so in *again. */
void epoll_ready_each(struct epoll *e,
		      bool (*look)(struct epoll_member *m, bool *again,
				   void *owner),
		      void *owner);

/* Is one of those whose bit is set ready? Takes nothing. */
bool epoll_ready_any(struct epoll *e, bool (*is_ready)(struct epoll_member *m));

/* A look found the member ready: more of the same is expected. */
void epoll_ready_found(struct epoll_member *m);

/* Members that are looked at though nobody sets their bit: not attached yet, or
 * shared with another instance. */
static inline bool epoll_has_others(struct epoll *e)
{
	return relaxed_load(&e->awake) != relaxed_load(&e->joined);
}

/* The bells of this member must be emptied before its word is armed. */
void epoll_ready_fills(struct epoll_member *m);

/* Visits each group of the instance. */
void epoll_ready_groups(struct epoll *e,
			void (*visit)(struct epoll *e, struct epoll_group *g));

#endif
