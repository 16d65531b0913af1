/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fdtable: descriptor -> what the engine knows about it. Null for nearly all
 * of them: the calls on those go straight to the kernel.
 *
 * Ownership: an entry is counted by the descriptors that name it (dup);
 *            its owner frees it when the last one is cleared.
 * Locking:   reads are one acquire load, no lock; changes hold the engine
 *            lock. Memory of entries is never unmapped, so a late reader finds
 *            an old entry, whose `dead` mark it checks under the stream lock.
 */
#ifndef SMC_R_FDTABLE_H
#define SMC_R_FDTABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDTABLE_SIZE (1 << 20)
/* The lower ones are part of the library: programs may have little memory. */
#define FDTABLE_LOW  (1 << 16)

enum fdentry_kind {
	FDENTRY_PRIVATE = 1, /* ours; the program must not see it */
	FDENTRY_SOCKET,      /* struct connection */
	FDENTRY_LISTENER,    /* struct listener */
	FDENTRY_EPOLL,       /* struct epoll */
};

struct fdentry {
	uint32_t kind;
	_Atomic uint32_t references; /* descriptors that name it */
};

struct held;

struct listener {
	struct fdentry entry; /* FDENTRY_LISTENER */
	uint16_t port;
	bool matched;       /* its port was, at some time, in the ranges */
	bool given;         /* somebody without the engine may accept, too */
	bool deferred;      /* it has TCP_DEFER_ACCEPT: deferred.h */
	bool listed;        /* in the registry */
	bool any;           /* it listens at all addresses */
	uint8_t looks_only; /* so many accepts: it is not waited at */
	uint64_t marked_at; /* settings_generation then */
	int32_t marked_by;  /* process: the registry's entry is not inherited */
	uint32_t forks;     /* process.forks when it was met */
	int accept_flags;   /* the program's last accept4() */
	/* None that it gives before then has agreed (OPTION_LEFT_FOR). */
	_Atomic uint64_t left_until_ns;
	struct held *held; /* sandbox.h: connections that are to be given, */
	int sign;          /* and the descriptor that tells of them, or 0 */
	struct listener *next; /* the next one to be given back */
};

/* NULL: nothing is tracked. */
extern struct fdentry *_Atomic *fdtable;
/* It is the same, but NULL while one entry has been left. */
extern struct fdentry *_Atomic *fdtable_whole;

/* 0, or -ENOMEM and nothing will be tracked. */
int fdtable_init(void);
/* Nothing is tracked any more. */
void fdtable_end_tracking(void);

struct fdentry *fdtable_get_other(int fd);

static inline struct fdentry *fdtable_get(int fd)
{
	struct fdentry *_Atomic *table = fdtable_whole;

	if (__builtin_expect((unsigned)fd >= FDTABLE_LOW || !table, 0))
		return fdtable_get_other(fd);
	return atomic_load_explicit(&table[fd], memory_order_acquire);
}

static inline struct fdentry *fdtable_kind(int fd, uint32_t kind)
{
	struct fdentry *e = fdtable_get(fd);

	return e && e->kind == kind ? e : NULL;
}

/* Engine lock held, but for an instance of epoll: a new one, which nobody else
 * knows yet, and one without members that is closed. set takes one reference;
 * clear drops it and says whether it was the last one (the caller then frees
 * the entry). */
void fdtable_set(int fd, struct fdentry *e);
bool fdtable_clear(int fd, struct fdentry **out);

/* Without the lock. drop takes this entry from fd; true: that was its last
 * reference. share gives it a second number that has none; false: it went. */
bool fdtable_drop(int fd, struct fdentry *e);
bool fdtable_share(struct fdentry *e, int to);

/* For a process of one thread, without the lock. As drop of a last reference,
 * but neither the table nor the entry is written to, so that the child of a
 * fork need not copy their pages; the entry's memory is never used again.
 * Serves one entry of a process; false: drop it. */
bool fdtable_leave(int fd, struct fdentry *e);

/* Marks a number as ours; a program that closes it gets EBADF. */
void fdtable_reserve(int fd);
void fdtable_release(int fd);

/* The highest number ever tracked, plus one: the end of every walk. */
int fdtable_end(void);
/* The end without the private ones: the program's numbers are mostly low, and
 * ours are high. */
int fdtable_program_end(void);

extern _Atomic int fdtable_connections_top;

/* The end of connections alone; 0: there has never been one. */
static inline int fdtable_connections_end(void)
{
	return atomic_load(&fdtable_connections_top);
}

/* The end of listeners alone. */
int fdtable_listeners_end(void);
/* Descriptors of listeners, and of connections, now. */
extern _Atomic int fdtable_listening, fdtable_connected;

static inline int fdtable_listeners(void)
{
	return atomic_load_explicit(&fdtable_listening, memory_order_relaxed);
}

static inline int fdtable_connections(void)
{
	return atomic_load_explicit(&fdtable_connected, memory_order_relaxed);
}

#endif
