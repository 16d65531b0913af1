/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* attr_type: may an attribute have this value? */
#include "attr_type.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORD_SIZE 256

int attr_type_number(const char *text, uint64_t *out)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hex ? text + 2 : text;
	unsigned long long value;
	char *end;

	if (!*digits || digits[strspn(digits, is_hex ? "0123456789abcdefABCDEF"
						     : "0123456789")] != '\0')
		return -EINVAL;
	errno = 0;
	value = strtoull(digits, &end, is_hex ? 16 : 10);
	if (errno)
		return -EINVAL;
	*out = value;
	return 0;
}

static bool has_shape(const struct attr_type *type, char shape)
{
	return type->values[0] && type->rep[0] && type->rep[1] == shape;
}

bool attr_type_is_list(const struct attr_type *type)
{
	return has_shape(type, 'l') || has_shape(type, 'b');
}

bool attr_type_is_range(const struct attr_type *type)
{
	return has_shape(type, 'r');
}

int attr_type_next_word(const char **next, char *out, size_t size)
{
	size_t length = strcspn(*next, ",");

	if (**next == '\0')
		return 0;
	if (length == 0 || length >= size)
		return -EPROTO;
	memcpy(out, *next, length);
	out[length] = '\0';
	*next += length;
	if (**next == ',') {
		(*next)++;
		if (**next == '\0')
			return -EPROTO;
	}
	return 1;
}

int attr_type_next_range(const char **next, struct attr_range *out)
{
	struct attr_range range = {.increment = 1};
	char word[WORD_SIZE];
	const char *ahead;
	char *dash;
	int found = attr_type_next_word(next, word, sizeof(word));

	if (found <= 0)
		return found;
	dash = strchr(word, '-');
	if (!dash)
		return -EPROTO;
	*dash = '\0';
	if (attr_type_number(word, &range.low) != 0 ||
	    attr_type_number(dash + 1, &range.high) != 0 ||
	    range.low > range.high)
		return -EPROTO;
	ahead = *next;
	found = attr_type_next_word(&ahead, word, sizeof(word));
	if (found < 0)
		return found;
	if (found && !strchr(word, '-')) {
		if (attr_type_number(word, &range.increment) != 0 ||
		    range.increment == 0)
			return -EPROTO;
		*next = ahead;
	}
	*out = range;
	return 1;
}

static int bad_definition(char *why, size_t why_size, const char *values)
{
	snprintf(why, why_size, "its definition is damaged: \"%s\"", values);
	return -EPROTO;
}

static int check_list(bool is_numeric, const char *values, const char *value,
		      char *word, char *why, size_t why_size)
{
	uint64_t wanted, number;
	const char *next = values;
	int found;

	is_numeric = is_numeric && attr_type_number(value, &wanted) == 0;
	while ((found = attr_type_next_word(&next, word, WORD_SIZE)) > 0) {
		if (strcmp(word, value) == 0)
			return 0;
		if (is_numeric && attr_type_number(word, &number) == 0 &&
		    number == wanted)
			return 0;
	}
	if (found < 0)
		return bad_definition(why, why_size, values);
	snprintf(why, why_size, "\"%s\" is not one of %s", value, values);
	return -EINVAL;
}

static int check_pair(const char *values, const char *value, char *word,
		      char *why, size_t why_size)
{
	static const char *const opposite[][2] = {
	    {"no", "yes"}, {"off", "on"}, {"false", "true"}, {"0", "1"}};
	const char *next = values;
	char pair[2][WORD_SIZE];

	if (attr_type_next_word(&next, pair[0], WORD_SIZE) != 1 ||
	    attr_type_next_word(&next, pair[1], WORD_SIZE) != 1 || *next)
		return bad_definition(why, why_size, values);
	for (int yes = 0; yes < 2; yes++) {
		bool same = strcasecmp(value, pair[yes]) == 0;

		for (size_t i = 0; i < sizeof(opposite) / sizeof(opposite[0]);
		     i++)
			same |= strcasecmp(value, opposite[i][yes]) == 0;
		if (same) {
			strcpy(word, pair[yes]);
			return 0;
		}
	}
	snprintf(why, why_size, "\"%s\" is not one of %s", value, values);
	return -EINVAL;
}

/* "16-64 or 128-1024 in steps of 128" */
static void describe_ranges(const char *values, char *out, size_t size)
{
	const char *next = values;
	struct attr_range range;
	size_t used = 0;

	out[0] = '\0';
	while (used < size && attr_type_next_range(&next, &range) > 0) {
		int n =
		    snprintf(out + used, size - used, "%s%" PRIu64 "-%" PRIu64,
			     used ? " or " : "", range.low, range.high);

		used += (size_t)n;
		if (range.increment > 1 && used < size)
			used += (size_t)snprintf(out + used, size - used,
						 " in steps of %" PRIu64,
						 range.increment);
	}
}

static int check_range(const char *values, const char *value, char *word,
		       char *why, size_t why_size)
{
	const char *next = values;
	struct attr_range range;
	uint64_t number;
	int found;

	if (attr_type_number(value, &number) != 0) {
		describe_ranges(values, word, WORD_SIZE);
		snprintf(why, why_size, "\"%s\" is not a whole number in %s",
			 value, word);
		return -EINVAL;
	}
	while ((found = attr_type_next_range(&next, &range)) > 0) {
		if (number < range.low || number > range.high ||
		    (number - range.low) % range.increment != 0)
			continue;
		snprintf(word, WORD_SIZE, "%" PRIu64, number);
		return 0;
	}
	if (found < 0)
		return bad_definition(why, why_size, values);
	describe_ranges(values, word, WORD_SIZE);
	snprintf(why, why_size, "%s is not in %s", value, word);
	return -EINVAL;
}

static int check_free(bool is_numeric, const char *value, char *why,
		      size_t why_size)
{
	uint64_t number;

	if (is_numeric && attr_type_number(value, &number) != 0) {
		snprintf(why, why_size, "\"%s\" is not a number", value);
		return -EINVAL;
	}
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c >= ' ' && *c != 0x7f)
			continue;
		snprintf(why, why_size, "holds a control character");
		return -EINVAL;
	}
	return 0;
}

int attr_type_check(const struct attr_type *type, const char *value, char *out,
		    size_t size, char *why, size_t why_size)
{
	bool is_numeric = type->rep[0] == 'n';
	const char *values = type->values;
	const char *stored = value;
	char word[WORD_SIZE];
	int error;

	if (!is_numeric && type->rep[0] != 's')
		return bad_definition(why, why_size, type->rep);
	if (!values[0]) {
		error = check_free(is_numeric, value, why, why_size);
	} else {
		stored = word;
		if (has_shape(type, 'l'))
			error = check_list(is_numeric, values, value, word, why,
					   why_size);
		else if (has_shape(type, 'b'))
			error = check_pair(values, value, word, why, why_size);
		else if (is_numeric && has_shape(type, 'r'))
			error = check_range(values, value, word, why, why_size);
		else
			error = bad_definition(why, why_size, values);
	}
	if (!error && strlen(stored) >= size) {
		snprintf(why, why_size, "longer than %zu bytes", size - 1);
		error = -EINVAL;
	}
	if (!error)
		strcpy(out, stored);
	return error;
}
