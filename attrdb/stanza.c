/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* stanza: one object as text. */
#include "stanza.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_byte(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

static bool is_name(const char *name)
{
	size_t n = 0;

	for (; name[n]; n++)
		if (n + 1 >= STANZA_NAME_SIZE || !is_name_byte(name[n], n == 0))
			return false;
	return n > 0;
}

static bool is_text_byte(char c)
{
	return c == '\n' || c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

int stanza_init(struct stanza *s, const char *class_name)
{
	if (!is_name(class_name))
		return -EINVAL;
	memset(s, 0, sizeof(*s));
	strcpy(s->class_name, class_name);
	return 0;
}

void stanza_fini(struct stanza *s)
{
	for (unsigned i = 0; i < s->field_count; i++)
		free(s->fields[i].string);
	memset(s, 0, sizeof(*s));
}

static int find_index(const struct stanza *s, const char *name)
{
	for (unsigned i = 0; i < s->field_count; i++)
		if (strcmp(s->fields[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* Takes over the string, also when it fails. */
static int set_field(struct stanza *s, const char *name, char *string,
		     int64_t number)
{
	struct stanza_field *field;
	int i = find_index(s, name);

	if (i < 0 && !is_name(name)) {
		free(string);
		return -EINVAL;
	}
	if (i < 0 && s->field_count == STANZA_FIELDS_MAX) {
		free(string);
		return -E2BIG;
	}
	field = &s->fields[i < 0 ? s->field_count++ : (unsigned)i];
	if (i < 0)
		strcpy(field->name, name);
	free(field->string);
	field->string = string;
	field->number = number;
	return 0;
}

int stanza_set_string(struct stanza *s, const char *name, const char *value)
{
	char *copy;

	if (strlen(value) > STANZA_STRING_MAX)
		return -E2BIG;
	for (const char *c = value; *c; c++)
		if (!is_text_byte(*c))
			return -EINVAL;
	copy = strdup(value);
	return copy ? set_field(s, name, copy, 0) : -ENOMEM;
}

int stanza_set_number(struct stanza *s, const char *name, int64_t value)
{
	return set_field(s, name, NULL, value);
}

const struct stanza_field *stanza_find(const struct stanza *s, const char *name)
{
	int i = find_index(s, name);

	return i < 0 ? NULL : &s->fields[i];
}

const char *stanza_string(const struct stanza *s, const char *name)
{
	const struct stanza_field *field = stanza_find(s, name);

	return field && field->string ? field->string : "";
}

static void write_string(FILE *file, const char *string)
{
	putc('"', file);
	for (const char *c = string; *c; c++) {
		switch (*c) {
		case '\n':
			fputs("\\n", file);
			break;
		case '\t':
			fputs("\\t", file);
			break;
		case '\\':
		case '"':
			putc('\\', file);
			putc(*c, file);
			break;
		default:
			putc(*c, file);
		}
	}
	putc('"', file);
}

int stanza_write(FILE *file, const struct stanza *s)
{
	fprintf(file, "\n%s:\n", s->class_name);
	for (unsigned i = 0; i < s->field_count; i++) {
		const struct stanza_field *field = &s->fields[i];

		fprintf(file, "\t%s = ", field->name);
		if (field->string)
			write_string(file, field->string);
		else
			fprintf(file, "%" PRId64, field->number);
		putc('\n', file);
	}
	return ferror(file) ? -EIO : 0;
}

/* ---- Reading ------------------------------------------------------------ */

void stanza_reader_init(struct stanza_reader *r, const char *text,
			size_t length)
{
	r->next = text;
	r->end = text + length;
	r->line = 1;
	r->why = NULL;
}

static int complain(struct stanza_reader *r, const char *why)
{
	r->why = why;
	return -EPROTO;
}

static bool at(const struct stanza_reader *r, char c)
{
	return r->next < r->end && *r->next == c;
}

static void skip_blanks(struct stanza_reader *r)
{
	while (at(r, ' ') || at(r, '\t') || at(r, '\r'))
		r->next++;
}

static void skip_line(struct stanza_reader *r)
{
	while (r->next < r->end && *r->next != '\n')
		r->next++;
	if (r->next < r->end) {
		r->next++;
		r->line++;
	}
}

/* Skips to the first byte that is neither blank line nor comment. */
static void skip_nothing(struct stanza_reader *r)
{
	while (r->next < r->end) {
		const char *start = r->next;

		skip_blanks(r);
		if (!at(r, '\n') && !at(r, '#') && !at(r, '*') &&
		    r->next < r->end) {
			r->next = start;
			return;
		}
		skip_line(r);
	}
}

static int read_name(struct stanza_reader *r, char *out)
{
	size_t n = 0;

	while (r->next < r->end && is_name_byte(*r->next, n == 0)) {
		if (n + 1 == STANZA_NAME_SIZE)
			return complain(r, "name too long");
		out[n++] = *r->next++;
	}
	out[n] = '\0';
	return n ? 0 : complain(r, "a name is expected here");
}

static int read_escape(struct stanza_reader *r, char *out, size_t *n)
{
	if (r->next == r->end)
		return complain(r, "string not closed");
	switch (*r->next) {
	case 'n':
		out[(*n)++] = '\n';
		break;
	case 't':
		out[(*n)++] = '\t';
		break;
	case '\\':
	case '"':
		out[(*n)++] = *r->next;
		break;
	case '\n':
		r->line++;
		break;
	default:
		return complain(r, "unknown escape in a string");
	}
	r->next++;
	return 0;
}

static int read_string(struct stanza_reader *r, char *out)
{
	size_t n = 0;

	for (r->next++; !at(r, '"');) {
		if (r->next == r->end || *r->next == '\n')
			return complain(r, "string not closed");
		if (!is_text_byte(*r->next))
			return complain(r, "control character in a string");
		if (n == STANZA_STRING_MAX)
			return complain(r, "string too long");
		if (*r->next != '\\') {
			out[n++] = *r->next++;
			continue;
		}
		r->next++;
		if (read_escape(r, out, &n) != 0)
			return -EPROTO;
	}
	r->next++;
	out[n] = '\0';
	return 0;
}

static int read_number(struct stanza_reader *r, int64_t *out)
{
	char digits[24];
	size_t n = 0;
	char *end;

	if (at(r, '-'))
		digits[n++] = *r->next++;
	while (r->next < r->end && isdigit((unsigned char)*r->next)) {
		if (n + 1 == sizeof(digits))
			return complain(r, "number out of range");
		digits[n++] = *r->next++;
	}
	digits[n] = '\0';
	errno = 0;
	*out = strtoll(digits, &end, 10);
	if (errno)
		return complain(r, "number out of range");
	if (end == digits || n == 0)
		return complain(r, "a \"string\" or a number is expected here");
	return 0;
}

static int read_value(struct stanza_reader *r, struct stanza *s,
		      const char *name)
{
	char string[STANZA_STRING_MAX + 1];
	int64_t number;
	int error;

	if (at(r, '"')) {
		if (read_string(r, string) != 0)
			return -EPROTO;
		error = stanza_set_string(s, name, string);
	} else {
		if (read_number(r, &number) != 0)
			return -EPROTO;
		error = stanza_set_number(s, name, number);
	}
	return error == -E2BIG ? complain(r, "too many fields") : error;
}

/* Nothing but a comment may follow on the line. */
static int read_line_end(struct stanza_reader *r)
{
	skip_blanks(r);
	if (r->next < r->end && *r->next != '\n' && *r->next != '*')
		return complain(r, "unexpected text at the end of the line");
	skip_line(r);
	return 0;
}

static int read_field(struct stanza_reader *r, struct stanza *s)
{
	char name[STANZA_NAME_SIZE];
	int error;

	skip_blanks(r);
	if (read_name(r, name) != 0)
		return -EPROTO;
	if (stanza_find(s, name))
		return complain(r, "field given twice");
	skip_blanks(r);
	if (!at(r, '='))
		return complain(r, "'=' is expected here");
	r->next++;
	skip_blanks(r);
	error = read_value(r, s, name);
	return error ? error : read_line_end(r);
}

static int read_class(struct stanza_reader *r, struct stanza *s)
{
	char name[STANZA_NAME_SIZE];

	if (at(r, ' ') || at(r, '\t'))
		return complain(r, "a field without a class above it");
	if (read_name(r, name) != 0)
		return -EPROTO;
	skip_blanks(r);
	if (!at(r, ':'))
		return complain(r, "':' is expected behind the class");
	r->next++;
	if (read_line_end(r) != 0)
		return -EPROTO;
	return stanza_init(s, name);
}

/* A comment, or the end of the stanza: an empty line, or the next class. */
static bool skip_to_field(struct stanza_reader *r)
{
	while (r->next < r->end) {
		const char *start = r->next;

		skip_blanks(r);
		if (r->next == r->end || at(r, '\n'))
			return false;
		if (!at(r, '#') && !at(r, '*')) {
			r->next = start;
			return at(r, ' ') || at(r, '\t');
		}
		skip_line(r);
	}
	return false;
}

int stanza_read(struct stanza_reader *r, struct stanza *out)
{
	struct stanza s = {0};
	int error;

	skip_nothing(r);
	if (r->next == r->end)
		return 0;
	error = read_class(r, &s);
	while (!error && skip_to_field(r))
		error = read_field(r, &s);
	if (error) {
		stanza_fini(&s);
		return error;
	}
	*out = s;
	return 1;
}
