/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* answer: what the commands of screens print, read. */
#include "cmd/smit/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes a value up to the colon that ends it; NULL behind the last one. */
static const char *take_value(const char *from, char *out, size_t size,
			      bool *fits)
{
	size_t n = 0;

	*fits = true;
	while (*from && *from != '\n' && *from != ':') {
		if (strncmp(from, "#!:", 3) == 0)
			from += 2;
		if (n + 1 < size)
			out[n++] = *from;
		else
			*fits = false;
		from++;
	}
	out[n] = '\0';
	return *from == ':' ? from + 1 : NULL;
}

bool answer_value(const char *text, const char *name, char *out, size_t size)
{
	const char *names = text[0] == '#' ? text + 1 : NULL;
	const char *values = strchr(text, '\n');
	bool fits = true;

	values = values ? values + 1 : NULL;
	while (names && values) {
		char word[128];

		names = take_value(names, word, sizeof(word), &fits);
		if (fits && strcmp(word, name) == 0) {
			take_value(values, out, size, &fits);
			return fits;
		}
		values = take_value(values, out, size, &fits);
	}
	return false;
}

unsigned answer_lines(char *text, char **lines, unsigned max)
{
	unsigned count = 0;

	for (char *next = text; next && count < max;) {
		char *line = strsep(&next, "\n");

		if (line[0] != '#' && line[strspn(line, " \t\r")] != '\0')
			lines[count++] = line;
	}
	return count;
}

bool answer_word(const char *line, unsigned i, char *out, size_t size)
{
	size_t length;

	for (;;) {
		line += strspn(line, " \t");
		length = strcspn(line, " \t");
		if (i-- == 0)
			break;
		line += length;
	}
	if (length == 0 || length >= size)
		return false;
	memcpy(out, line, length);
	out[length] = '\0';
	return true;
}

bool answer_is_in_range(const char *range, const char *value)
{
	long long low, high, step = 1, number;
	char *end;

	number = strtoll(value, &end, 0);
	if (*end || end == value)
		return true;
	low = strtoll(range, &end, 0);
	if (end == range || strncmp(end, "...", 3) != 0)
		return true;
	range = end + 3;
	high = strtoll(range, &end, 0);
	if (end == range)
		return true;
	if (strncmp(end, " (+", 3) == 0)
		step = strtoll(end + 3, NULL, 0);
	return number >= low && number <= high &&
	       (step < 2 || (number - low) % step == 0);
}

bool answer_blames(const char *errors, const char *name, char *out, size_t size)
{
	size_t length = strlen(name);

	while (length > 0 && *errors) {
		const char *line = errors + strspn(errors, " \t");
		size_t line_length = strcspn(line, "\n");

		if (strncmp(line, name, length) == 0 &&
		    strncmp(line + length, ": ", 2) == 0) {
			snprintf(out, size, "%.*s", (int)line_length, line);
			return true;
		}
		errors = line + line_length;
		errors += *errors == '\n';
	}
	return false;
}
