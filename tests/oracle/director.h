/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * director: starts the two actors, carries out a script step by step and
 * writes the log.
 *
 * A script has one step per line; "#" begins a comment.
 *   A0 recv c0 100      task 0 of actor A does it; its answer is logged
 *   A1& recv c0 100     task 1 begins it; the script goes on
 *   A1=                 waits for that answer and logs it
 *   blocked A1          A1 must now be asleep in its operation
 *   signal A1 USR1      to the thread of A1
 *   interrupt A1 USR1   again and again until A1 answers; logs the answer
 *   kill A4 KILL        to the process of A4; waits until it is gone for KILL
 * @NAME in an operation is the port of the listener NAME.
 *
 * The director itself uses pipes only, so it cannot be accelerated.
 */
#ifndef TESTS_ORACLE_DIRECTOR_H
#define TESTS_ORACLE_DIRECTOR_H

#include <stdio.h>

struct director;

/*
 * prefix[0] and prefix[1] go before the command lines of A and B ("" for
 * none). NULL: an actor did not start; the reason is on stderr.
 */
struct director *director_open(const char *program, const char *const *prefix,
			       FILE *log);

/* 0, or -1 if the script cannot go on (written to the log). */
int director_step(struct director *d, const char *line);

/* Ends the actors; all they started ends by its pipes. */
void director_close(struct director *d);

#endif
