/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload: the names of libc that this library defines. Each looks the
 * descriptor up and either goes straight to the real function (tail call; the
 * cancellation point is that function's own) or to the engine, which may not
 * sleep; so the calls that are cancellation points look for a cancel first.
 *
 * preload.map lists the names; everything else stays local.
 */
#ifndef SMC_R_PRELOAD_H
#define SMC_R_PRELOAD_H

#include <errno.h>
#include <pthread.h>
#include <sys/single_threaded.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/real.h"
#include "smc_r/socket/scarcity.h"
#include "smc_r/socket/socket_close.h"

/* They lie together, so that calls on descriptors of the kernel's touch few
 * pages, which the child of a fork has to fetch again. */
#define PRELOAD                                                                \
	__attribute__((visibility("default"), section(".text.hot.preload")))
/* Those that nearly each server makes for each connection. */
#define PRELOAD_HOT __attribute__((visibility("default"))) FORK_TEXT
/* Old binaries know these functions under a second name. */
#define PRELOAD_ALIAS(name, of)                                                \
	extern __typeof__(of) name                                             \
	    __attribute__((alias(#of), visibility("default")))

/*
 * libc declares these with "...". Where SMC-R runs a parameter that is named is
 * passed as one that is not, so that the call can go on as it came; one that
 * the caller did not pass is not looked at by the kernel.
 */
#define PRELOAD_VARIADIC(name, of)                                             \
	extern __typeof__(of) variadic_##name __asm__(#name)                   \
	    __attribute__((alias(#of), visibility("default")))

/* The rest of a function, where nothing of it is to be done for plain calls:
 * neither registers saved nor a stack checked. */
#define NOT_PLAIN __attribute__((noinline))

/*
 * Nothing is known of this descriptor: the call on it is the real one's, by a
 * tail call. That costs least where the kernel returns to the program at once,
 * and not by a page of ours, which it has forgotten since the call before.
 */
static inline bool is_plain(int fd)
{
	return __builtin_expect(!connection_of(fd), 1);
}

/* The connection behind fd if calls on it concern us, else NULL. */
static inline struct connection *served(int fd)
{
	struct connection *c = connection_of(fd);

	if (__builtin_expect(!c, 1))
		return NULL;
	return connection_phase(c) == PHASE_NATIVE ? NULL : c;
}

/*
 * The connection for a call that sends, or ends sending: also one whose peer
 * ended before the handshake did, until the program has done either
 * (messages.c).
 */
static inline struct connection *served_end(int fd)
{
	struct connection *c = connection_of(fd);

	if (__builtin_expect(!c, 1))
		return NULL;
	return connection_phase(c) == PHASE_NATIVE && !connection_was_left(c)
		   ? NULL
		   : c;
}

/* A cancel that is pending acts here, before anything is moved. */
static inline void cancellation_point(void)
{
	if (__builtin_expect(!__libc_single_threaded, 0))
		pthread_testcancel();
}

/* For the calls that are cancellation points. */
static inline struct connection *served_point(int fd)
{
	struct connection *c = served(fd);

	if (c)
		cancellation_point();
	return c;
}

static inline struct connection *served_end_point(int fd)
{
	struct connection *c = served_end(fd);

	if (c)
		cancellation_point();
	return c;
}

extern void __chk_fail(void) __attribute__((noreturn));

/* A fortified program makes this `call`, unless the buffer is too small. */
#define PRELOAD_CHECKED(result, name, parameters, is_too_small, call)          \
	PRELOAD result name parameters;                                        \
	PRELOAD result name parameters                                         \
	{                                                                      \
		if (is_too_small)                                              \
			__chk_fail();                                          \
		return call;                                                   \
	}

#endif
