/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_judge: would a member be reported, and is it told by that?
 *
 * The decision is epoll_verdict.h's; what there is to tell is read here.
 *
 * Locking: none; what is told is taken by compare-and-swap.
 */
#ifndef SMC_R_EPOLL_JUDGE_H
#define SMC_R_EPOLL_JUDGE_H

#include "smc_r/epoll/epoll_set.h"
#include "smc_r/epoll/epoll_verdict.h"

/* One look at members. */
struct epoll_look {
	bool takes;      /* what is reported is told, and EPOLLONESHOT spent */
	uint32_t quiet;  /* members that were passed by: epoll_member.h */
	uint64_t now_ns; /* 0: not asked yet */
};

/* Returns the EPOLL* bits to report, 0 for none. */
uint32_t epoll_judge(struct epoll_member *m, struct epoll_look *look);

/* Would it be reported? Nothing is taken: an edge stays for the thread that
 * waits. */
bool epoll_member_ready(struct epoll_member *m);

/* m may be NULL. */
static inline bool epoll_waits_for_output(const struct epoll_member *m)
{
	return m && atomic_load(&m->enabled) &&
	       (atomic_load(&m->events) & EPOLL_OUTPUT);
}

/* Returns what there is to tell of m, but for the bits. */
struct epoll_view epoll_view(const struct epoll_member *m);

/* What m was told of. takes: from here on it is told of `now`, which is from
 * before its bits: what comes in between is an edge of the next look. A wake
 * that finds nothing is over, too. What another thread takes at the same time
 * counts as told. */
struct epoll_view epoll_seen(struct epoll_member *m, struct epoll_view now,
			     bool takes);

#endif
