/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * entry: a field of a dialog and the value that it has.
 *
 * What a field shows is not always what the command gets: its object may name
 * words to be shown (disp_values) and others that stand for them (aix_values).
 *
 * Ownership: the object that it reads belongs to a screen, which must live
 *	      longer.
 * Locking:   none.
 */
#ifndef CMD_SMIT_ENTRY_H
#define CMD_SMIT_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "attrdb/stanza.h"

#define ENTRY_VALUE_SIZE (STANZA_STRING_MAX + 1)
#define ENTRY_WORDS_MAX  16

struct entry {
	const struct stanza *object; /* of sm_cmd_opt */
	char initial[ENTRY_VALUE_SIZE];
	char value[ENTRY_VALUE_SIZE]; /* as it is shown */
};

/* The value is the first one of a ring, otherwise "". */
void entry_init(struct entry *e, const struct stanza *object);
/* From here on this is the value that F5 brings back. value is what a command
 * would get or print. */
void entry_start(struct entry *e, const char *value);
/* Makes the present value the one that F5 brings back. */
void entry_keep(struct entry *e);

/* Blanks around it go; what is too long is cut. */
void entry_set(struct entry *e, const char *shown);
const char *entry_word(const struct entry *e, const char *name);

/* "*" in column 0. */
bool entry_is_required(const struct entry *e);
/* May be typed into, or else only chosen. */
bool entry_is_typed(const struct entry *e);
/* Is there a list of values? Can several of it be taken? */
bool entry_has_list(const struct entry *e);
bool entry_has_several(const struct entry *e);
/* Can a number have this character? Any can stand in other text. */
bool entry_can_have(const struct entry *e, int character);
/* What stands between several values: ',' or ' '. */
char entry_joint(const struct entry *e);
/* The mark behind the field: "+", "#", "+#" ... */
void entry_marks(const struct entry *e, char out[4]);

/* Words of disp_values: their number; each points into *store. */
unsigned entry_shown(const struct entry *e, char store[ENTRY_VALUE_SIZE],
		     char *words[ENTRY_WORDS_MAX]);
/* The next one of the words, or the one before; *value is the present one. */
void entry_turn(struct entry *e, char *const *words, unsigned count,
		bool is_forward);

/* Is it sent to the command? */
bool entry_is_sent(const struct entry *e);
/* What the command gets: false when it is a user's text, to be quoted; true
 * when it comes from aix_values, and stands as it is. */
bool entry_sent(const struct entry *e, char out[ENTRY_VALUE_SIZE]);

/* 0, or -EINVAL and what is wrong with the value in why. */
int entry_check(const struct entry *e, char *why, size_t size);

#endif
