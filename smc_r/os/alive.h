/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * alive: is the process that had this number still the same one?
 *
 * A pid alone can be given again; a pid with its start time cannot. The start
 * time is field 22 of /proc/<pid>/stat, in clock ticks since boot: proc(5).
 *
 * Locking: none; the answer may be old when it is used.
 */
#ifndef SMC_R_ALIVE_H
#define SMC_R_ALIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * 0; -ESRCH when there is no such process or nothing but its zombie is left;
 * -EPROTO when /proc says what proc(5) does not; another -errno.
 */
int alive_start(pid_t pid, uint64_t *out);

/*
 * Where /proc hides the process (mount option hidepid) any process of that
 * number counts as the same one: better a segment too many than one too few.
 */
bool alive_is_same(pid_t pid, uint64_t start);
/* And has it executed no other program since it was forked? */
bool alive_is_same_program(pid_t pid, uint64_t start);

/* Does a process of this number run that began no later than `start`? */
bool alive_is_elder(pid_t pid, uint64_t start);

#endif
