/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scarcity: the program has used up its descriptors, and some of those that are
 * in use are the engine's.
 *
 * The engine's own lie above the soft limit where the hard one is higher, and
 * then nobody misses them. Where both are equal (private_fd.c) the engine takes
 * some of what the program has no use for so far. When a call of the program
 * finds none left, it gives back: first what belongs to no connection, then
 * what idle connections have, the youngest first, which go to TCP
 * (REASON_DESCRIPTORS), and at last everything. It does so some numbers before
 * that when a socket gets one of the last, for calls that nobody sees, and as
 * connections with unread bytes take some to go. While so much is in use the
 * engine takes nothing, and new connections stay on TCP.
 *
 * Locking: takes the engine lock and those of streams. errno stays.
 */
#ifndef SMC_R_SCARCITY_H
#define SMC_R_SCARCITY_H

#include <errno.h>
#include <stdbool.h>

#include "smc_r/os/process.h"
#include "smc_r/os/relaxed.h"

/* True: something was given back, so the call that failed is to be made again.
 * No call of ours where nothing is open. */
bool scarcity_relieve(void);

/* So few are never given back: the status segment, and the directory of that.
 */
#define SCARCITY_KEPT 2u

static inline bool scarcity_is_far(void)
{
	return __builtin_expect(private_fd_in_use() <= SCARCITY_KEPT, 1);
}

/* Is a call of the program, which had this result, to be made again? */
static inline bool scarcity_again(bool failed)
{
	return __builtin_expect(failed, 0) && errno == EMFILE &&
	       scarcity_relieve();
}

/* The result of a call of the program that makes descriptors and returns
 * `failure` when it fails; it is made again when it is to be. */
#define SCARCITY_CALL(call, failure)                                           \
	({                                                                     \
		__typeof__(call) scarcity_result;                              \
                                                                               \
		do                                                             \
			scarcity_result = (call);                              \
		while (scarcity_again(scarcity_result == (failure)));          \
		scarcity_result;                                               \
	})

/* The whole of a function that makes descriptors: a tail call, where there is
 * nothing to give back. */
#define SCARCITY_RETURN(call, failure)                                         \
	do {                                                                   \
		if (scarcity_is_far())                                         \
			return (call);                                         \
		return SCARCITY_CALL(call, failure);                           \
	} while (0)

/* The program got this number. */
static inline void scarcity_note(int fd)
{
	if (__builtin_expect(fd >= relaxed_load(&private_fd_few_from), 0))
		scarcity_relieve();
}

#endif
