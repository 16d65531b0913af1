/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* command_line: the command that a dialog runs, made from its fields. */
#include "cmd/smit/command_line.h"

#include <errno.h>
#include <string.h>

struct line {
	char *text; /* COMMAND_LINE_SIZE */
	size_t used;
	bool is_full;
};

static void add(struct line *l, const char *text)
{
	size_t length = strlen(text);

	if (l->used + length >= COMMAND_LINE_SIZE) {
		l->is_full = true;
		return;
	}
	memcpy(l->text + l->used, text, length + 1);
	l->used += length;
}

/* Nothing is special between single quotes but the quote itself. */
static void add_quoted(struct line *l, const char *text)
{
	add(l, "'");
	for (; *text && !l->is_full; text++) {
		char letter[2] = {*text, '\0'};

		add(l, *text == '\'' ? "'\\''" : letter);
	}
	add(l, "'");
}

static int end(struct line *l)
{
	if (!l->is_full)
		return 0;
	l->text[0] = '\0';
	return -E2BIG;
}

/*
 * A flag and its value are two words, but "-a name=" and its value are one; a
 * prefix that begins with "=" goes on with the word before.
 */
static void add_entry(struct line *l, const struct entry *e)
{
	const char *prefix = entry_word(e, "prefix");
	char value[ENTRY_VALUE_SIZE];
	bool is_constant = entry_sent(e, value);
	size_t length = strlen(prefix);

	if (is_constant && !value[0] && !prefix[0])
		return;
	if (prefix[0] != '=')
		add(l, " ");
	add(l, prefix);
	if (length > 0 && prefix[length - 1] != '=' &&
	    prefix[length - 1] != ' ')
		add(l, " ");
	if (is_constant)
		add(l, value);
	else
		add_quoted(l, value);
}

int command_line_make(const struct screen *dialog, const struct entry *entries,
		      char out[COMMAND_LINE_SIZE])
{
	struct line l = {.text = out};

	out[0] = '\0';
	add(&l, screen_word(dialog, "cmd_to_exec"));
	for (unsigned i = 0; i < dialog->count; i++)
		if (entry_is_sent(&entries[i]))
			add_entry(&l, &entries[i]);
	return end(&l);
}

int command_line_ask(const char *command, const char *postfix,
		     const struct names *names, char out[COMMAND_LINE_SIZE])
{
	struct line l = {.text = out};
	char words[ENTRY_VALUE_SIZE];
	char *next = words;

	out[0] = '\0';
	add(&l, command);
	snprintf(words, sizeof(words), "%s", postfix);
	while (next) {
		const char *word = strsep(&next, " ");
		const char *value = names_value(names, word);

		if (!word[0])
			continue;
		add(&l, " ");
		if (value)
			add_quoted(&l, value);
		else
			add(&l, word);
	}
	return end(&l);
}

int names_put(struct names *n, const char *name, const char *value)
{
	unsigned i = 0;

	while (i < n->count && strcmp(n->list[i].name, name) != 0)
		i++;
	if (i == NAMES_MAX)
		return -E2BIG;
	if (i == n->count)
		n->count++;
	snprintf(n->list[i].name, sizeof(n->list[i].name), "%s", name);
	snprintf(n->list[i].value, sizeof(n->list[i].value), "%s", value);
	return 0;
}

const char *names_value(const struct names *n, const char *name)
{
	for (unsigned i = 0; i < n->count; i++)
		if (strcmp(n->list[i].name, name) == 0)
			return n->list[i].value;
	return NULL;
}
