/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * command_line: the command that a dialog runs, made from its fields; quoted,
 * so that the shell takes each value as one word, whatever is in it.
 *
 * The values of fields, and of the names that selectors asked for, are quoted
 * always. The rest are words of the database.
 *
 * Ownership: none.
 * Locking:   none.
 */
#ifndef CMD_SMIT_COMMAND_LINE_H
#define CMD_SMIT_COMMAND_LINE_H

#include <stddef.h>

#include "cmd/smit/entry.h"
#include "cmd/smit/screen.h"

#define COMMAND_LINE_SIZE 32768
#define NAMES_MAX         8

/* What selectors asked for, by the names that their objects give it. */
struct names {
	unsigned count;
	struct {
		char name[SCREEN_ID_SIZE];
		char value[ENTRY_VALUE_SIZE];
	} list[NAMES_MAX];
};

/* 0 or -E2BIG. */
int names_put(struct names *n, const char *name, const char *value);
/* NULL when there is no such name. */
const char *names_value(const struct names *n, const char *name);

/* 0, or -E2BIG when there is no room; *out is a whole command or "". */
int command_line_make(const struct screen *dialog, const struct entry *entries,
		      char out[COMMAND_LINE_SIZE]);
/*
 * A command that finds something out, with its postfix, in whose words the
 * names stand for their values. As above.
 */
int command_line_ask(const char *command, const char *postfix,
		     const struct names *names, char out[COMMAND_LINE_SIZE]);

#endif
