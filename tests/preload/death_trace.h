/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * death_trace: runs a process up to a point in its life and kills it there.
 *
 * A point is a system call, counted at its beginning and at its end, and so
 * many instructions behind it. The same life dies at the same place again.
 *
 * Locking: none; one victim at a time, and no other children meanwhile that
 *          waitpid(-1) could take.
 */
#ifndef TESTS_PRELOAD_DEATH_TRACE_H
#define TESTS_PRELOAD_DEATH_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

struct death_point {
	int at;     /* stops at system calls before it */
	int steps;  /* instructions after that */
	bool child; /* of the victim's first child instead */
};

struct death_result {
	bool killed;
	int stops;   /* that the process made in its life */
	pid_t child; /* the victim's first, 0 none */
	int status;  /* of the one that was run, as waitpid gives it */
};

/* In the victim, before anything that counts: it stops until it is run. */
void death_offer(void);

/*
 * Runs the victim, which has called death_offer(). At the point `before` is
 * called and then the process is killed; a life that has no such point goes to
 * its end. Returns when the process has ended. The other one, child or parent,
 * goes on alone from the fork, and is the caller's to wait for
 * (PR_SET_CHILD_SUBREAPER).
 */
struct death_result death_run(pid_t victim, const struct death_point *point,
			      void (*before)(void));

#endif
