/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * answer: what the commands of screens print, read.
 *
 * Ownership: results point into the text that they were made of, or into the
 *	      room that the caller gives.
 * Locking:   none.
 */
#ifndef CMD_SMIT_ANSWER_H
#define CMD_SMIT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The value of a name in "#name:name" newline "value:value", as lsattr -O
 * prints it; "#!:" in it is a colon. false: no such name, or it is too long.
 */
bool answer_value(const char *text, const char *name, char *out, size_t size);

/*
 * Cuts a text into lines, in place: their number, at most max. Lines of blanks,
 * and headings, which begin with '#', are left out.
 */
unsigned answer_lines(char *text, char **lines, unsigned max);

/* The i-th word of a line, from 0; false: it has none, or it is too long. */
bool answer_word(const char *line, unsigned i, char *out, size_t size);

/* Is the value in a range "16...65536 (+1)"? true also for other texts. */
bool answer_is_in_range(const char *range, const char *value);

/*
 * What a command that failed says of an attribute: a line "name: words", behind
 * blanks or not. false: nothing.
 */
bool answer_blames(const char *errors, const char *name, char *out,
		   size_t size);

#endif
