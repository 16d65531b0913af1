/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_set: readiness of connections inside the program's own epoll instances.
 *
 * A connection is never registered with the kernel's instance E itself. It is
 * a member in our table, and its bells and TCP socket sit, edge-triggered, in
 * two shadow instances, B and S, which sit edge-triggered in E under random
 * cookies. So E wakes when a member changes, in whatever way somebody waits on
 * E, poll() included; and which members are ready is read off their cursors,
 * without entering the kernel. What S tells is not to be seen there, so it is
 * asked after each sign of life; B only rings, and is let be. An instance that
 * is registered in another one is the kernel's (epoll_shared.h).
 *
 * Members become kernel registrations when their connection is plain TCP, or
 * with the next edge after that (epoll_shadow.h).
 *
 * Locking: the table changes under the engine lock. Waiting threads read it
 *          without a lock: members are never unmapped, `live` is cleared
 *          first, and a waiter that sees `version` move looks again before it
 *          sleeps. What is reported once (EPOLLONESHOT, an edge) is taken by
 *          compare-and-swap.
 * Fork:    a child has a copy of the table; the kernel's instances are shared
 *          and it leaves what it inherited in them alone, and the words in the
 *          RMB by which the peer rings them, until it uses the instance
 *          (epoll_shared.h).
 *
 * Cost: epoll_ctl on a member is a few stores, and a member that was taken out
 * stays parked until its connection ends. An instance without members goes
 * straight to the kernel if the process has one thread; with more, a thread
 * that adds the first member has to know that another one sleeps.
 */
#ifndef SMC_R_EPOLL_SET_H
#define SMC_R_EPOLL_SET_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

#include "smc_r/connection/connection.h"

/* What a look reads of a member that is active comes first, on one line. */
struct epoll_member {
	struct epoll *epoll;
	struct connection *connection;
	uint64_t data;
	_Atomic uint64_t told_at; /* look that told of it without a bit */
	int fd;                   /* a descriptor of the connection */
	_Atomic uint32_t live;
	_Atomic uint32_t enabled;     /* 0 after EPOLLONESHOT reported */
	_Atomic uint32_t late;        /* plain TCP; see epoll_shadow.h */
	_Atomic uint32_t events;      /* EPOLL* as asked for */
	_Atomic uint32_t ready_round; /* round of when it was ready last */
	_Atomic uint32_t arms; /* the instance's, when its bells were seen */
	bool attached;         /* its bells are in B */
	bool hears_room;       /* the one for room as well */
	bool shared; /* the connection's waiter word names another instance */
	bool hears_end; /* that the bell hangs up, by S */

	struct epoll_member *next; /* next member of the same connection */
	int key;                   /* the number it was registered by */
	_Atomic uint32_t parked;   /* taken out by EPOLL_CTL_DEL */
	bool watched;              /* its socket is in S */
	bool hears_knock;          /* the bell that it knocks for is in B */
	bool given;                /* several processes use the instance */
	struct epoll_group *group; /* has the bit for it, or NULL */
	uint64_t added;            /* sys_ticks */
	/* What was last reported, for EPOLLET. */
	_Atomic uint64_t in_seen;
	_Atomic uint32_t out_seen;
	_Atomic uint32_t bits_seen;
	_Atomic uint64_t tcp_input;  /* how far the stream came over TCP */
	_Atomic uint32_t tcp_output; /* edges of room, before it was noticed */
	/* For a member before it is active: nothing was ready when so much was
	 * told of it, and nothing changes before then (epoll_scan.c). */
	_Atomic uint32_t news;
	_Atomic uint32_t news_seen;
	_Atomic uint64_t quiet_until_ns;
	_Atomic uint32_t place; /* in the table of its instance */
	uint64_t tcp_begin; /* late: what to add to a count of TCP's bytes */
	bool fin_sent;      /* when it became late */
	/* How much was written when the end of a half was held back, plus one.
	 */
	_Atomic uint64_t half_at;
};

_Static_assert(offsetof(struct epoll_member, next) == 64, "one line");

/* Cookies of an instance: those of S and B, and epoll_shared.c's. */
#define EPOLL_COOKIES 4u
#define EPOLL_RUNG    1u /* what is added for B */
#define EPOLL_DEATHS  2u /* ... for the deaths of peers */

struct epoll {
	struct fdentry entry;        /* FDENTRY_EPOLL */
	int fd;                      /* E */
	int shadow;                  /* S, -1 until the first member */
	int bells;                   /* B, while there is S */
	int poke;                    /* eventfd in S: wakes sleepers of E */
	struct epoll_shared *shared; /* shared by all processes that have it */
	uint32_t forks;              /* process.forks, when it was made */
	_Atomic uint32_t given;      /* reason why all is the kernel's, or 0 */
	uint64_t cookie;             /* S has this one */
	uint32_t waiter;             /* 1..RMB_WAITERS-1, 0: none left */
	uint32_t bare_waits;         /* without members, since there is S */
	_Atomic uint32_t count;
	_Atomic uint32_t awake; /* the first so many are looked at; the others
				 * rest: epoll_member.h */
	_Atomic uint32_t capacity;
	struct epoll_member *_Atomic *_Atomic members;
	_Atomic uint32_t version;
	_Atomic uint32_t turn; /* where the next scan begins */
	_Atomic uint32_t calls;
	_Atomic uint64_t asked_ns;    /* when the kernel was asked last */
	_Atomic uint64_t asked_ticks; /* that time by sys_ticks */
	uint64_t middle; /* middle of the time since then; 0: no matter */
	uint32_t early;  /* members last found that were ready before it */
	/* epoll_ready.h: for instances with many members. */
	struct epoll_row *_Atomic rows;
	struct epoll_row *_Atomic resume; /* where the next look begins */
	_Atomic uint32_t resume_at;       /* place and bit there */
	_Atomic uint32_t joined;          /* members that have a bit */
	_Atomic uint32_t arms;            /* so often they were armed */
	_Atomic uint32_t round; /* looks at them that found a ready one */
	_Atomic uint32_t found; /* the last look found one */
	_Atomic uint32_t others_first; /* those without a bit have the turn */
	bool uses_bits;
	bool unsure; /* a ring may be missing: a barrier was refused, of a
		      * writer without fences, or a bell is not in B */
	_Atomic uint32_t due;     /* late members that must move */
	_Atomic uint32_t stalled; /* members may wait for room: stall.h */
	bool undrained;           /* S has events nobody looked at */
	bool rung;                /* and B */
	bool moved;               /* members became the kernel's */
	bool filled;              /* members filled the last array */
	bool told;                /* the kernel had something of its own */
	bool bereaved;            /* a peer has died: linkgroup_deaths.h */
	uint32_t hears_deaths;    /* generation of those put into E, or 0 */
	bool is_polled; /* once waited for from outside: poll(), or another
			 * instance that it is in */
	uint32_t spin_score;
};

static inline struct epoll *epoll_of(int fd)
{
	return (struct epoll *)(void *)fdtable_kind(fd, FDENTRY_EPOLL);
}

/* Something came that may change whether it is ready. */
static inline void epoll_member_news(struct epoll_member *m)
{
	atomic_fetch_add(&m->news, 1);
}

/* How many members a look goes through: epoll_member_at() of each. */
static inline uint32_t epoll_awake(struct epoll *e)
{
	return atomic_load_explicit(&e->awake, memory_order_acquire);
}

static inline bool epoll_member_rests(const struct epoll_member *m)
{
	return relaxed_load(&m->place) >= epoll_awake(m->epoll);
}

/* The i-th, NULL where there is none any more. */
static inline struct epoll_member *epoll_member_at(struct epoll *e, uint32_t i)
{
	struct epoll_member *_Atomic *table = atomic_load(&e->members);
	struct epoll_member *m = atomic_load(&table[i]);

	return m && relaxed_load(&m->live) ? m : NULL;
}

static inline bool epoll_is_cookie(const struct epoll *e, uint64_t data)
{
	return data - e->cookie < EPOLL_COOKIES;
}

/* Has this instance members that only we know? */
static inline bool epoll_has_members(const struct epoll *e)
{
	return e && relaxed_load(&e->count);
}
/* epoll_wait of an instance with members. timeout NULL: for ever. */
int epoll_wait_members(struct epoll *e, struct epoll_event *events, int max,
		       const struct timespec *timeout, const sigset_t *mask);

/* How a program waits: where nothing is ours it is that very call. */
struct epoll_way {
	long number; /* SYS_epoll_wait, ... */
	const sigset_t *mask;
};

/* epoll_wait of one without: the kernel's answer, or EPOLL_CHANGED when it has
 * members now. */
#define EPOLL_CHANGED (-2)
int epoll_wait_plain(struct epoll *e, struct epoll_event *events, int max,
		     const struct timespec *timeout,
		     const struct epoll_way *way);

/* Would epoll_wait return at once? Takes nothing. */
bool epoll_is_ready(struct epoll *e);
/* Members whose handshakes ended since the last look get their bells, or go to
 * the kernel. A wait on e does it by itself; a thread that looked at e from
 * outside calls this before it sleeps. Takes the engine lock. */
void epoll_follow(struct epoll *e);
/* Members ring for e: only epoll_arm() makes one. */
struct epoll_armed {
	bool sure; /* false: a ring may be missing, look by the clock as well */
};
/* Milliseconds until a timer changes what e reports; -1: no timer. Timers are
 * those of handshakes, and of members that wait for room. */
int epoll_pending_ms(struct epoll *e);

/* Why threads that sleep in e, or on it from outside, are to look again. */
enum epoll_wake {
	WAKE_CHANGE,  /* what is ready may have changed */
	WAKE_PASS_ON, /* we took signs of e, which may have been for them: we
		       * arm for them, and they are woken if there is more */
};
/* It needs no lock; for WAKE_PASS_ON the engine lock is free. errno stays. */
void epoll_wake(struct epoll *e, enum epoll_wake why);

#endif
