/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engine: the life of the engine in one process: start, fork, end.
 *
 * The kernel is asked for nothing before a TCP socket connects, listens or
 * accepts, and for nothing by other calls as long as nobody outside knows of
 * this process: a program may confine itself, or be confined, to the calls that
 * it makes.
 *
 * Locking: as process.h says; start runs before the program has threads.
 *
 * Copies: fork, _Fork and clone without CLONE_VM make a process that holds the
 * connections as well, and leaves alone whatever wakes its parent. Such a copy
 * costs little when it closes what it has: getppid() tells that its parent
 * lives, and no peer is told of the end of a copy. A process that shares our
 * memory is the kernel's alone (process_is_foreign); a handshake that it finds
 * unfinished ends on TCP, as bells that it was sent would be numbers in its own
 * table. A process that has no slot and no entry in the registry forks as it
 * does without the library, and its child begins anew.
 */
#ifndef SMC_R_ENGINE_H
#define SMC_R_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Called by the preload library's constructor and destructor. */
void engine_start(void);
void engine_stop(void);

/* In place of the start, where another engine serves (engines.h): every name
 * leads to what follows, and nothing else is done. */
void engine_stand_aside(void);

/* Called by connect, listen and accept of a TCP socket: the first such call of
 * a process finds out which process this is. It stays unbegun in a child by
 * vfork. */
void engine_begin(void);

/* fork() gave no child, though its handlers ran. */
void engine_fork_failed(void);

/* Around a fork that runs no handlers; pid is what it returned. */
void engine_before_fork(void);
void engine_after_fork(pid_t pid);

/* A child is to come that has a copy of our memory and our descriptors
 * themselves (CLONE_FILES): what is open goes back to TCP, and the child leaves
 * the engine. */
void engine_before_sharing(void);
void engine_leave(void);

/* From here on the program does what we cannot see, or may not do what we must:
 * its connections go back to TCP, and no new one is served. */
void engine_retire(uint32_t reason);
/* Does so before a filter that may allow any calls: from here on no call is
 * ours, but on connections that could not go to TCP. */
void engine_confine(void);

#endif
