/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_shared: instances that several processes have.
 *
 * fork makes an instance shared: what one process registers is told to any
 * process that waits (epoll(7)). But members are known to the process that
 * registered them. So one process uses an instance: the first that does after
 * the fork, when it had no members before, as daemons begin their loops early,
 * or when the one that used it has ended. Once a second one uses it, its
 * connections go back to TCP and all is the kernel's, for good.
 *
 * A process that makes no call on an instance that has become shared keeps what
 * it registered alone after the fork: nobody else knows of that.
 *
 * An instance that is registered in another one is the kernel's in the same
 * way, as the outer one hears of it from the kernel. A connection whose unread
 * bytes cannot come over TCP stays a member, and the inner instance is woken
 * while it is ready, as for poll().
 *
 * Locking: as epoll_set.h; epoll_claim and epoll_shared_join are called without
 *          the engine lock. The shared words are atomic, and nothing follows
 *          from one that another process left behind but TCP.
 */
#ifndef SMC_R_EPOLL_SHARED_H
#define SMC_R_EPOLL_SHARED_H

#include "smc_r/connection/sleepers.h"
#include "smc_r/epoll/epoll_set.h"
#include "smc_r/os/process.h"

#define EPOLL_NOBODY 0
#define EPOLL_MANY   UINT32_MAX

/* It lies in memory that forked processes share, a cache line each. */
struct epoll_shared {
	_Atomic uint32_t user;     /* process id; EPOLL_MANY: for good */
	_Atomic uint32_t sleepers; /* threads, of all processes */
	_Atomic uint32_t
	    woken_sleepers;     /* sleepers that saw that it is shared */
	_Atomic uint32_t taken; /* an instance has it */
	uint32_t unused[12];
};

/* Called by the constructor. */
void epoll_shared_init(void);
/* get gives a word to an instance that was made, or NULL without memory; put
 * takes it back. They run without the lock, which get takes where the words
 * that were made before are used up. */
struct epoll_shared *epoll_shared_get(uint64_t *cookie);
void epoll_shared_put(struct epoll *e);
/* They run around a fork, with the lock; and in the child. */
void epoll_shared_before_fork(void);
/* Is there an epoll that is not bare? No lock needed where there is one thread.
 */
bool epoll_shared_has_any(void);
void epoll_shared_forked(void);

static inline uint32_t epoll_user(const struct epoll *e)
{
	return relaxed_load(&e->shared->user);
}

static inline bool epoll_is_ours(const struct epoll *e)
{
	return epoll_user(e) == (uint32_t)process.pid &&
	       epoll_user(e) != EPOLL_NOBODY;
}

/* Has no process put anything of ours into it? Then any process that has it
 * uses it as it is, and the first that has a connection for it takes it. */
static inline bool epoll_is_bare(const struct epoll *e)
{
	return epoll_user(e) == EPOLL_NOBODY && e->shadow < 0;
}

/* Does it belong to a process that is not this one? */
static inline bool epoll_is_anothers(const struct epoll *e)
{
	return !epoll_is_ours(e) && epoll_user(e) != EPOLL_MANY;
}

/* May this process use it as it is? If not, epoll_claim comes first. */
static inline bool epoll_is_settled(const struct epoll *e)
{
	return epoll_is_ours(e) || epoll_is_bare(e) || e->given;
}

/* Makes it ours, or the kernel's. errno stays. */
void epoll_claim(struct epoll *e);

/* Runs without the lock. From here on all registrations of e are the kernel's,
 * and connections that are registered go to TCP, for this reason. */
void epoll_release_to_kernel(struct epoll *e, uint32_t reason);

/* Gives e, as epoll_release_to_kernel() does, to a process of which we know
 * nothing. Threads that sleep in e are told. */
void epoll_release_unseen(struct epoll *e, uint32_t reason);

/* e is about to be registered in another instance. This makes no call where
 * nothing of ours is in e. errno stays. */
void epoll_nest(struct epoll *e);

/* c is registered in an instance that is the kernel's: it goes to TCP, for this
 * reason. errno stays. */
void epoll_shared_join(struct connection *c, int fd, uint32_t reason);

/* They enclose a sleep in the kernel; a thread that is cancelled in it ends it
 * by sleeper_end(). begin: false when epoll_claim must come first; end: false
 * when it must now. s is on the stack of the caller, all zeros at first, and
 * may be used again. */
bool epoll_begin_sleep(struct epoll *e, struct sleeper *s);
bool epoll_end_sleep(struct epoll *e, struct sleeper *s);
/* Comes before a look that may take what others sleep for. */
void epoll_begin_look(struct epoll *e, struct sleeper *s);
/* What was taken in looks and sleeps was passed on: a thread that jumps now
 * owes nothing. */
void epoll_rewoken(struct sleeper *s);

/* May the kernel report a cookie of ours? */
static inline bool epoll_has_cookies(const struct epoll *e)
{
	return e->shadow >= 0 ||
	       (!epoll_is_ours(e) && epoll_user(e) != EPOLL_NOBODY);
}

#endif
