/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* assign: what -a Attribute=Value asks for. */
#include "assign.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

/* Length of "name" when the text begins with "name="; else 0. */
static size_t name_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return text[n] == '=' ? n : 0;
}

/* Where the value that begins here ends: the next pair, or the end. */
static const char *value_end(const char *text)
{
	const char *end = text + strcspn(text, BLANKS);

	for (;;) {
		const char *word = end + strspn(end, BLANKS);

		if (!*word || name_length(word))
			return end;
		end = word + strcspn(word, BLANKS);
	}
}

static int add_pair(struct assign *a, const char *name, size_t length,
		    const char *value, size_t value_length)
{
	struct assign_pair *more =
	    reallocarray(a->pairs, a->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	a->pairs = more;
	more += a->count;
	memcpy(more->name, name, length);
	more->name[length] = '\0';
	more->value = strndup(value, value_length);
	if (!more->value)
		return -ENOMEM;
	a->count++;
	return 0;
}

int assign_add(struct assign *a, const char *text)
{
	text += strspn(text, BLANKS);
	do {
		size_t length = name_length(text);
		const char *value = text + length + 1;
		const char *end;
		int error;

		if (length == 0 || length >= STANZA_NAME_SIZE)
			return -EINVAL;
		end = value_end(value);
		error = add_pair(a, text, length, value, (size_t)(end - value));
		if (error)
			return error;
		text = end + strspn(end, BLANKS);
	} while (*text);
	return 0;
}

int assign_put(struct assign *a, const char *name, const char *value)
{
	size_t length = strlen(name);

	return length < STANZA_NAME_SIZE
		   ? add_pair(a, name, length, value, strlen(value))
		   : -EINVAL;
}

void assign_fini(struct assign *a)
{
	for (unsigned i = 0; i < a->count; i++)
		free(a->pairs[i].value);
	free(a->pairs);
	memset(a, 0, sizeof(*a));
}

const struct assign_pair *assign_find(const struct assign *a, const char *name,
				      bool *is_clear)
{
	const struct assign_pair *found = NULL;

	*is_clear = true;
	for (unsigned i = 0; i < a->count; i++) {
		if (strcmp(a->pairs[i].name, name) != 0)
			continue;
		if (found && strcmp(found->value, a->pairs[i].value) != 0)
			*is_clear = false;
		found = &a->pairs[i];
	}
	return found;
}
