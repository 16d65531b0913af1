/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * values: the values that a field can have: from its object, or from a command
 * that is run when they are asked for.
 *
 * Ownership: values_fini() frees a list. Begins as zeros.
 * Locking:   none.
 */
#ifndef CMD_SMIT_VALUES_H
#define CMD_SMIT_VALUES_H

#include <stdbool.h>

#include "cmd/smit/command_line.h"
#include "cmd/smit/shell.h"

#define VALUES_MAX 1024

struct values {
	char *lines[VALUES_MAX];
	unsigned count;
	bool is_range;  /* lines tell of a range, and are none to choose */
	bool has_words; /* the value is the first word of a line */
	unsigned index; /* ... or this one */
	char command[COMMAND_LINE_SIZE]; /* "": there is none */
	char store[ENTRY_VALUE_SIZE];
	struct shell_result result;
};

/* 0; or -errno and why there are none. */
int values_load(const struct entry *e, const struct names *names,
		struct values *out, char *why, size_t size);
void values_fini(struct values *v);
/* What a line stands for; false: it is too long. */
bool values_word(const struct values *v, unsigned line,
		 char out[ENTRY_VALUE_SIZE]);

/* Lets the reader choose (F4): true when the entry has another value. */
bool values_choose(struct entry *e, const struct names *names);
/* Tab: the next value, or the one before. */
void values_turn(struct entry *e, const struct names *names, bool is_forward);
/* As entry_check(), and whether it is in a range that a command prints. */
int values_check(const struct entry *e, const struct names *names, char *why,
		 size_t size);

#endif
