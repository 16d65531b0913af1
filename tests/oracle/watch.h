/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * watch: what /proc tells about a thread or a process.
 */
#ifndef TESTS_ORACLE_WATCH_H
#define TESTS_ORACLE_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Is the thread asleep in a system call that is not the read of its own
 * operation pipe? switches: how often it has gone to sleep so far.
 */
bool thread_asleep(pid_t tid, unsigned long *switches);

/* All its threads are stopped. */
bool process_stopped(pid_t pid);

/* Dead, perhaps not yet reaped; its descriptors are closed. */
bool process_gone(pid_t pid);

#endif
