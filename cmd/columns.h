/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * columns: a table as lsattr and lsdev print it. Each column but the last is
 * padded to its widest cell, one blank between two.
 *
 * Ownership: copies the cells; columns_fini() frees them.
 */
#ifndef CMD_COLUMNS_H
#define CMD_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

#define COLUMNS_MAX 48

struct columns {
	unsigned count; /* of columns */
	size_t row_count;
	char **cells;
};

void columns_init(struct columns *c, unsigned count);
void columns_fini(struct columns *c);
/* Takes `count` cells: 0 or -ENOMEM. */
int columns_add(struct columns *c, const char *const *cells);
/* head: names above the columns and an empty line, or NULL. */
void columns_print(const struct columns *c, const char *const *head,
		   FILE *file);

/*
 * A format of names separated by bytes that stand in no name. Names of one
 * blank apart only make padded columns; with anything else between them, what
 * stands there is printed as it is, without padding.
 */
struct format {
	unsigned count;
	char names[COLUMNS_MAX][32];
	char between[COLUMNS_MAX + 1]
		    [16]; /* in front of each, and at the end */
	int is_literal;
};

/* 0, or -EINVAL when a name or what stands between is too long. */
int format_parse(const char *text, struct format *out);

#endif
