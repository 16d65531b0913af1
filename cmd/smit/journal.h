/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * journal: smit.log, what was shown and run, and smit.script, the commands that
 * were run, as a script that runs them again.
 *
 * Both only grow. A file that is no regular file, that somebody else could have
 * put there (another owner than this user and root) or that has a second name
 * is refused; so is a link. /dev/null is taken.
 *
 * Ownership: one in a process; journal_close() ends it.
 * Locking:   none. Each entry is one write() to the end of the file.
 */
#ifndef CMD_SMIT_JOURNAL_H
#define CMD_SMIT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_LOG    "smit.log"
#define JOURNAL_SCRIPT "smit.script"

struct journal_places {
	const char *log, *script; /* NULL: in the home directory */
	bool traces; /* lists and values that commands gave are logged, too */
};

/* 0, or -errno with file, cause and cure in why. */
int journal_open(const struct journal_places *places, char *why, size_t size);
void journal_close(void);
const char *journal_log_path(void);

/* A line "[date, time]" and this text, to the log. */
void journal_note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* A line and a text as well, but only with traces. */
void journal_trace(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Bytes as they are, to the log. */
void journal_text(const char *text, size_t length);
/* A command, to the script. */
void journal_command(const char *command);

#endif
