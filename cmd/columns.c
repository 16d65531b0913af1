/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* columns: a table as lsattr and lsdev print it. */
#include "columns.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void columns_init(struct columns *c, unsigned count)
{
	memset(c, 0, sizeof(*c));
	c->count = count;
}

void columns_fini(struct columns *c)
{
	for (size_t i = 0; i < c->row_count * c->count; i++)
		free(c->cells[i]);
	free((void *)c->cells);
	memset(c, 0, sizeof(*c));
}

int columns_add(struct columns *c, const char *const *cells)
{
	size_t first = c->row_count * c->count;
	char **more =
	    reallocarray((void *)c->cells, first + c->count, sizeof(*more));

	if (!more)
		return -ENOMEM;
	c->cells = more;
	for (unsigned i = 0; i < c->count; i++) {
		more[first + i] = strdup(cells[i]);
		if (!more[first + i]) {
			while (i--)
				free(more[first + i]);
			return -ENOMEM;
		}
	}
	c->row_count++;
	return 0;
}

static void print_row(const struct columns *c, const char *const *cells,
		      const int *width, FILE *file)
{
	for (unsigned i = 0; i + 1 < c->count; i++)
		fprintf(file, "%-*s ", width[i], cells[i]);
	fprintf(file, "%s\n", cells[c->count - 1]);
}

void columns_print(const struct columns *c, const char *const *head, FILE *file)
{
	int width[COLUMNS_MAX] = {0};

	for (size_t i = 0; i < c->row_count * c->count; i++) {
		int length = (int)strlen(c->cells[i]);

		if (length > width[i % c->count])
			width[i % c->count] = length;
	}
	for (unsigned i = 0; head && i < c->count; i++)
		if ((int)strlen(head[i]) > width[i])
			width[i] = (int)strlen(head[i]);
	if (head) {
		print_row(c, head, width, file);
		putc('\n', file);
	}
	for (size_t row = 0; row < c->row_count; row++)
		print_row(c, (const char *const *)c->cells + row * c->count,
			  width, file);
}

static int is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int take(const char **text, int names, char *out, size_t size)
{
	size_t length = 0;

	while ((*text)[length] && !is_name_byte((*text)[length]) == !names)
		length++;
	if (length >= size)
		return -EINVAL;
	memcpy(out, *text, length);
	out[length] = '\0';
	*text += length;
	return 0;
}

int format_parse(const char *text, struct format *out)
{
	struct format f = {0};

	for (;;) {
		if (take(&text, 0, f.between[f.count], sizeof(f.between[0])))
			return -EINVAL;
		if (strspn(f.between[f.count], " ") !=
		    strlen(f.between[f.count]))
			f.is_literal = 1;
		if (!*text)
			break;
		if (f.count == COLUMNS_MAX ||
		    take(&text, 1, f.names[f.count], sizeof(f.names[0])))
			return -EINVAL;
		f.count++;
	}
	if (f.count == 0)
		return -EINVAL;
	*out = f;
	return 0;
}
