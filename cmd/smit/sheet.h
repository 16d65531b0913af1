/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sheet: the fields of a dialog on the screen, in pages, and typing into them.
 *
 * Ownership: titles, entries and labels are the caller's, and live longer.
 * Locking:   none.
 */
#ifndef CMD_SMIT_SHEET_H
#define CMD_SMIT_SHEET_H

#include <form.h>
#include <stdbool.h>

#include "cmd/smit/entry.h"
#include "cmd/smit/terminal.h"

#define SHEET_FIELDS_MAX 64
#define SHEET_WHY_SIZE   256

struct sheet {
	struct terminal_layer layer;
	const char *title;
	struct entry *entries;
	unsigned count; /* 1 to SHEET_FIELDS_MAX */
	unsigned current;
	char why[SHEET_WHY_SIZE]; /* shown at the current field; "": nothing */

	FORM *form;
	FIELD *fields[SHEET_FIELDS_MAX + 1];
	int page_rows;
	int bracket; /* column of the "]" of the current field; 0: none */
};

/* Puts it onto the screen; the members above the line are set. */
void sheet_open(struct sheet *s, const char *fast_path);
void sheet_close(struct sheet *s);

/* Shows the values of the entries, the current field and why. */
void sheet_update(struct sheet *s);
/* Takes what was typed into the current entry. */
void sheet_take(struct sheet *s);
/* A key that moves or types: true when it was one. */
bool sheet_key(struct sheet *s, int key);
/* A key that types into the current field of any form: true when it was one. */
bool sheet_type(FORM *form, int key);
/* false: the key is a character that this entry cannot have. */
bool sheet_can_take(const struct entry *e, int key);

#endif
