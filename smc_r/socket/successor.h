/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * successor: descriptors that go to a process that may not have the engine: a
 * program that is executed, a process that gets one by SCM_RIGHTS, stdio.
 *
 * Locking: none of its own.
 */
#ifndef SMC_R_SUCCESSOR_H
#define SMC_R_SUCCESSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "smc_r/fallback/demote.h"
#include "smc_r/socket/exec_check.h"

/*
 * Every tracked connection that exec, or posix_spawn (SUCCESSOR_BESIDE), would
 * pass on goes back to TCP.
 *
 * A listener that is marked promises that any process that accepts has the
 * engine, and clients count on it already. So a program that inherits one gets
 * the engine with it: EXEC_WITH_US says that its environment must name it. One
 * that cannot load it takes the mark from the listener.
 */
enum exec_words successor_exec(const struct exec_image *image,
			       enum successor successor);
/* Marked listeners that this program inherited become known. */
void successor_adopt_listeners(void);
/* libc's own shell, as of system(3): it inherits, and its environment is ours
 * as it stands. */
void successor_shell(void);
/* Those in the control data of a message. */
void successor_message(const struct msghdr *m);
/* One descriptor. */
void successor_descriptor(int fd, uint32_t reason);
/* All of them: the program set up io_uring, whose requests we cannot see. */
void successor_all(uint32_t reason);

#endif
