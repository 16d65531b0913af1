/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* entry: a field of a dialog and the value that it has. */
#include "cmd/smit/entry.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

const char *entry_word(const struct entry *e, const char *name)
{
	return stanza_string(e->object, name);
}

static char entry_letter(const struct entry *e, const char *name)
{
	return entry_word(e, name)[0];
}

/* Splits at commas; an empty text has no word, ",-d" has two. */
static unsigned split(const char *text, char store[ENTRY_VALUE_SIZE],
		      char *words[ENTRY_WORDS_MAX])
{
	unsigned count = 0;

	if (!text[0])
		return 0;
	snprintf(store, ENTRY_VALUE_SIZE, "%s", text);
	for (char *next = store; next && count < ENTRY_WORDS_MAX;) {
		char *word = strsep(&next, ",");

		words[count++] = word + strspn(word, " ");
	}
	return count;
}

unsigned entry_shown(const struct entry *e, char store[ENTRY_VALUE_SIZE],
		     char *words[ENTRY_WORDS_MAX])
{
	return split(entry_word(e, "disp_values"), store, words);
}

/* The word of the list `to` that has the place of this one in `from`; NULL when
 * there is none. */
static const char *translate(const struct entry *e, const char *from,
			     const char *to, const char *word, char *store)
{
	char from_store[ENTRY_VALUE_SIZE];
	char *from_words[ENTRY_WORDS_MAX], *to_words[ENTRY_WORDS_MAX];
	unsigned count = split(entry_word(e, from), from_store, from_words);
	unsigned to_count = split(entry_word(e, to), store, to_words);

	for (unsigned i = 0; i < count && i < to_count; i++)
		if (strcmp(from_words[i], word) == 0)
			return to_words[i];
	return NULL;
}

void entry_set(struct entry *e, const char *shown)
{
	size_t length;

	shown += strspn(shown, " ");
	snprintf(e->value, sizeof(e->value), "%s", shown);
	length = strlen(e->value);
	while (length > 0 && e->value[length - 1] == ' ')
		e->value[--length] = '\0';
}

void entry_keep(struct entry *e)
{
	strcpy(e->initial, e->value);
}

void entry_start(struct entry *e, const char *value)
{
	char store[ENTRY_VALUE_SIZE];
	const char *shown =
	    translate(e, "aix_values", "disp_values", value, store);

	entry_set(e, shown ? shown : value);
	entry_keep(e);
}

void entry_init(struct entry *e, const struct stanza *object)
{
	char store[ENTRY_VALUE_SIZE];
	char *words[ENTRY_WORDS_MAX];

	memset(e, 0, sizeof(*e));
	e->object = object;
	if (tolower(entry_letter(e, "op_type")) == 'r' &&
	    entry_shown(e, store, words) > 0)
		entry_set(e, words[0]);
	entry_keep(e);
}

bool entry_is_required(const struct entry *e)
{
	return entry_letter(e, "required") == '+';
}

bool entry_is_typed(const struct entry *e)
{
	char type = entry_letter(e, "entry_type");

	return type && type != 'n';
}

bool entry_has_list(const struct entry *e)
{
	return entry_word(e, "disp_values")[0] ||
	       entry_word(e, "cmd_to_list")[0];
}

bool entry_has_several(const struct entry *e)
{
	char several = entry_letter(e, "multi_select");

	return several == ',' || several == 'y';
}

bool entry_can_have(const struct entry *e, int character)
{
	const char *all = "-0123456789";

	switch (entry_letter(e, "entry_type")) {
	case 'x':
		all = "x0123456789abcdefABCDEF";
		/* fall through */
	case '#':
		return character < 0x80 && strchr(all, character);
	default:
		return true;
	}
}

char entry_joint(const struct entry *e)
{
	return entry_letter(e, "multi_select") == ',' ? ',' : ' ';
}

void entry_marks(const struct entry *e, char out[4])
{
	unsigned n = 0;

	if (entry_has_list(e))
		out[n++] = '+';
	switch (entry_letter(e, "entry_type")) {
	case '#':
		out[n++] = '#';
		break;
	case 'x':
		out[n++] = 'X';
		break;
	case 'f':
		out[n++] = '/';
		break;
	default:
		break;
	}
	out[n] = '\0';
}

void entry_turn(struct entry *e, char *const *words, unsigned count,
		bool is_forward)
{
	unsigned i = 0;

	if (count == 0)
		return;
	while (i < count && strcmp(words[i], e->value) != 0)
		i++;
	if (i == count)
		i = is_forward ? 0 : count - 1;
	else
		i = (i + (is_forward ? 1 : count - 1)) % count;
	entry_set(e, words[i]);
}

/* As in AIX: n when it was changed, y and + always, ? unless it is empty. */
bool entry_is_sent(const struct entry *e)
{
	switch (entry_letter(e, "required")) {
	case 'y':
	case '+':
		return true;
	case '?':
		return e->value[0] != '\0';
	default:
		return strcmp(e->value, e->initial) != 0;
	}
}

bool entry_sent(const struct entry *e, char out[ENTRY_VALUE_SIZE])
{
	char store[ENTRY_VALUE_SIZE];
	const char *constant =
	    translate(e, "disp_values", "aix_values", e->value, store);

	snprintf(out, ENTRY_VALUE_SIZE, "%s", constant ? constant : e->value);
	return constant != NULL;
}

static bool has_only(const char *text, const char *characters)
{
	return text[0] && text[strspn(text, characters)] == '\0';
}

int entry_check(const struct entry *e, char *why, size_t size)
{
	const char *value = e->value;
	char store[ENTRY_VALUE_SIZE];
	char *words[ENTRY_WORDS_MAX];
	unsigned i = 0, count = entry_shown(e, store, words);

	why[0] = '\0';
	if (!value[0]) {
		if (entry_is_required(e))
			snprintf(why, size, "A value is required here.");
		return why[0] ? -EINVAL : 0;
	}
	switch (entry_letter(e, "entry_type")) {
	case '#':
		if (!has_only(value + (value[0] == '-'), "0123456789"))
			snprintf(why, size, "\"%s\" is not a number.", value);
		break;
	case 'x':
		if (!has_only(value + 2 * (strncmp(value, "0x", 2) == 0),
			      "0123456789abcdefABCDEF"))
			snprintf(why, size, "\"%s\" is not hexadecimal.",
				 value);
		break;
	default:
		break;
	}
	while (i < count && strcmp(words[i], value) != 0)
		i++;
	if (!why[0] && count > 0 && i == count)
		snprintf(why, size, "\"%s\" is none of: %s.", value,
			 entry_word(e, "disp_values"));
	return why[0] ? -EINVAL : 0;
}
