/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * message: what a device command says, with AIX's 0514 numbers.
 *
 * Two families, both on standard error:
 *
 *	chdev: 0514-519 text, from the command itself
 *
 *	Method error (/usr/lib/methods/chgsmcr):
 *	        0514-018 text, from what works on the device
 *	                 details, one on each line
 *
 * The numbers are AIX's; the sentences are ours except where the number has
 * one wording that everybody knows. Numbers and words stay as they are once
 * published: operators search for them, and scripts compare.
 */
#ifndef CMD_MESSAGE_H
#define CMD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1,  /* usage, method error, database error */
	EXIT_UNKNOWN = 255 /* lsattr: no such device or attribute */
};

/* One running command. */
struct cmd {
	const char *name;
	const char *usage; /* syntax lines, one below the other */
	bool is_quiet;     /* -q: not a word on either stream */
	bool ends_anyway;  /* its work goes on where no database can be had */
};

enum message {
	MESSAGE_SYSTEM = 1,
	MESSAGE_NO_ATTRIBUTE = 17,
	MESSAGE_BAD_VALUE = 18,
	MESSAGE_BAD_CONNECTION = 22,
	MESSAGE_RELATIVE_STATE = 29,
	MESSAGE_EXISTS = 31,
	MESSAGE_CANNOT_START = 40,
	MESSAGE_CANNOT_STOP = 39,
	MESSAGE_BUSY = 62,
	MESSAGE_USAGE = 511,
	MESSAGE_LOCKED = 516,
	MESSAGE_NO_DEVICE = 519,
	MESSAGE_NO_KIND = 520,
	MESSAGE_UNKNOWN_ATTRIBUTE = 528,
	MESSAGE_BAD_PARAMETER = 546,
	MESSAGE_FULL = 548,
};

#define DETAILS_SIZE 8192

/* Lines that follow a message. Begins as zeros; what does not fit is cut. */
struct details {
	char text[DETAILS_SIZE];
	size_t used;
};

void details_add(struct details *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Print a message and return EXIT_REFUSED. object is what the message is
 * about: a name, a parameter, a reason; some messages have none (NULL).
 */
int message_command(const struct cmd *cmd, enum message number,
		    const char *object);
/* A file, and the errno (positive) of the call that failed. */
int message_file(const struct cmd *cmd, const char *path, int error);
/* d may be NULL. */
int message_method(const struct cmd *cmd, const char *method,
		   enum message number, const struct details *d);

/* A line on standard error about what is done all the same, unless quiet. */
void message_note(const struct cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A sentence about wrong flags, the usage, EXIT_REFUSED. */
int message_usage(const struct cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* -h: the usage on standard output, EXIT_DONE. */
int message_help(const struct cmd *cmd);

/* A line of result on standard output, unless quiet. */
void message_result(const struct cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit status, or EXIT_REFUSED when standard output cannot be written. */
int message_end(const struct cmd *cmd, int status);

#endif
