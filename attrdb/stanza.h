/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stanza: one object as text, in the format of AIX's odmget and odmadd.
 *
 *	CuAt:
 *		name = "smc_r0"
 *		nls_index = 3
 *
 * The class and a colon stand in column 1, the fields are indented, a blank
 * line ends the stanza. Strings know \n \t \\ \" and backslash-newline, which
 * stands for nothing. A line that begins with '#' or '*' is a comment, and so
 * is what follows a '*' behind a value. What is written reads back the same.
 *
 * Ownership: a stanza owns its strings; stanza_fini() frees them.
 * Locking:   none.
 */
#ifndef ATTRDB_STANZA_H
#define ATTRDB_STANZA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STANZA_FIELDS_MAX 40
#define STANZA_NAME_SIZE  32   /* bytes of a name, with the final NUL */
#define STANZA_STRING_MAX 1023 /* bytes of a string, without it */

struct stanza_field {
	char name[STANZA_NAME_SIZE];
	char *string;   /* NULL for a number */
	int64_t number; /* 0 for a string */
};

struct stanza {
	char class_name[STANZA_NAME_SIZE];
	unsigned field_count;
	struct stanza_field fields[STANZA_FIELDS_MAX];
};

/* 0; -EINVAL when the class is not a name. */
int stanza_init(struct stanza *s, const char *class_name);
/* Accepts a stanza of zeros, and one that is finished already. */
void stanza_fini(struct stanza *s);

/*
 * Adds a field or replaces its value: 0; -EINVAL when it is not a name or the
 * string holds control characters other than newline and tab; -E2BIG when
 * the string is too long or there are too many fields; -ENOMEM.
 */
int stanza_set_string(struct stanza *s, const char *name, const char *value);
int stanza_set_number(struct stanza *s, const char *name, int64_t value);

/* NULL when there is no such field. The stanza keeps it. */
const struct stanza_field *stanza_find(const struct stanza *s,
				       const char *name);
/* "" when there is no such field, or it is a number. The stanza keeps it. */
const char *stanza_string(const struct stanza *s, const char *name);

/* 0 or -EIO. Begins with an empty line, as odmget does. */
int stanza_write(FILE *file, const struct stanza *s);

struct stanza_reader {
	const char *next, *end;
	unsigned line;   /* of the mistake, from 1 */
	const char *why; /* what is wrong, in words; NULL when nothing is */
};

void stanza_reader_init(struct stanza_reader *r, const char *text,
			size_t length);

/*
 * 1 and a stanza in *out, which the caller finishes; 0 at the end of the text;
 * -EPROTO with r->line and r->why, or -ENOMEM. *out is untouched then.
 */
int stanza_read(struct stanza_reader *r, struct stanza *out);

#endif
