/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* values: the values that a field can have. */
#include "cmd/smit/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/smit/answer.h"
#include "cmd/smit/choose.h"
#include "cmd/smit/journal.h"
#include "cmd/smit/popup.h"

/* ---- Loading ------------------------------------------------------------ */

static int load_from_command(struct values *out, char *why, size_t size)
{
	char *clean;
	int error;

	journal_trace("Asked for a list:\n%s", out->command);
	error = shell_run(out->command, &out->result, NULL, NULL);
	if (error) {
		snprintf(why, size, "%s: %s", out->command, strerror(-error));
		return error;
	}
	/* Freed with the result, in which it takes the place of the bytes. */
	clean = terminal_clean(out->result.out.bytes, out->result.out.length);
	if (!clean)
		return -ENOMEM;
	free(out->result.out.bytes);
	out->result.out.bytes = clean;
	out->count = answer_lines(clean, out->lines, VALUES_MAX);
	if (out->count > 0)
		return 0;
	snprintf(why, size, "The list is empty.\n%s\n\nIt comes from:\n%s",
		 out->result.err.bytes, out->command);
	return -ENOENT;
}

int values_load(const struct entry *e, const struct names *names,
		struct values *out, char *why, size_t size)
{
	const char *mode = entry_word(e, "cmd_to_list_mode");
	int error;

	memset(out, 0, sizeof(*out));
	why[0] = '\0';
	if (entry_word(e, "disp_values")[0]) {
		char *words[ENTRY_WORDS_MAX];

		out->count = entry_shown(e, out->store, words);
		memcpy(out->lines, words, out->count * sizeof(words[0]));
		return 0;
	}
	out->is_range = mode[0] == 'r';
	out->has_words = isdigit((unsigned char)mode[0]);
	out->index =
	    out->has_words && mode[0] > '0' ? (unsigned)(mode[0] - '1') : 0;
	error = command_line_ask(entry_word(e, "cmd_to_list"),
				 entry_word(e, "cmd_to_list_postfix"), names,
				 out->command);
	if (error) {
		snprintf(why, size, "%s", strerror(-error));
		return error;
	}
	return load_from_command(out, why, size);
}

void values_fini(struct values *v)
{
	shell_fini(&v->result);
}

bool values_word(const struct values *v, unsigned line,
		 char out[ENTRY_VALUE_SIZE])
{
	if (v->has_words)
		return answer_word(v->lines[line], v->index, out,
				   ENTRY_VALUE_SIZE);
	return snprintf(out, ENTRY_VALUE_SIZE, "%s", v->lines[line]) <
	       ENTRY_VALUE_SIZE;
}

/* ---- Choosing ----------------------------------------------------------- */

/* Is the word one of those that the value consists of? */
static bool is_part(const char *value, const char *word, char joint)
{
	size_t length = strlen(word);

	while (*value) {
		const char *end = strchrnul(value, joint);

		if ((size_t)(end - value) == length &&
		    strncmp(value, word, length) == 0)
			return true;
		value = end + (*end != '\0');
	}
	return false;
}

static bool is_listed(const struct values *v, const char *word)
{
	char listed[ENTRY_VALUE_SIZE];

	for (unsigned i = 0; i < v->count; i++)
		if (values_word(v, i, listed) && strcmp(listed, word) == 0)
			return true;
	return false;
}

static void join(char all[ENTRY_VALUE_SIZE], char joint, const char *word)
{
	size_t used = strlen(all);

	if (used + strlen(word) + 2 > ENTRY_VALUE_SIZE)
		return;
	if (used > 0)
		all[used++] = joint;
	strcpy(all + used, word);
}

/* What the field has and the list does not know stays. */
static void join_taken(const struct values *v, const bool *is_taken,
		       struct entry *e)
{
	char joint[2] = {entry_joint(e), '\0'};
	char all[ENTRY_VALUE_SIZE] = "", word[ENTRY_VALUE_SIZE];
	char *next = word;

	strcpy(word, e->value);
	while (next) {
		const char *part = strsep(&next, joint);

		if (part[0] && !is_listed(v, part))
			join(all, joint[0], part);
	}
	for (unsigned i = 0; i < v->count; i++)
		if (is_taken[i] && values_word(v, i, word))
			join(all, joint[0], word);
	entry_set(e, all);
}

static bool is_any(const bool *is_taken, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (is_taken[i])
			return true;
	return false;
}

static bool choose(struct entry *e, struct values *v)
{
	bool is_taken[VALUES_MAX] = {false};
	char word[ENTRY_VALUE_SIZE], title[ENTRY_VALUE_SIZE + 2];
	struct choose c = {.title = title,
			   .lines = v->lines,
			   .count = v->count,
			   .in_box = true,
			   .is_taken = is_taken};

	snprintf(title, sizeof(title), " %s ", entry_word(e, "name"));
	c.has_several = entry_has_several(e);
	for (unsigned i = 0; i < v->count; i++) {
		if (!values_word(v, i, word))
			continue;
		is_taken[i] =
		    c.has_several && is_part(e->value, word, entry_joint(e));
		if (strcmp(word, e->value) == 0)
			c.current = i;
	}
	if (!choose_run(&c))
		return false;
	if (c.has_several) {
		/* Enter alone takes the line under the cursor. */
		if (!is_any(is_taken, v->count))
			is_taken[c.current] = true;
		join_taken(v, is_taken, e);
	} else if (values_word(v, c.current, word)) {
		entry_set(e, word);
	}
	return true;
}

bool values_choose(struct entry *e, const struct names *names)
{
	struct values *v = calloc(1, sizeof(*v));
	char why[2048];
	bool is_chosen = false;

	if (!v)
		return false;
	if (values_load(e, names, v, why, sizeof(why)) != 0)
		popup_message(" LIST ", why);
	else if (v->is_range)
		popup_message(" RANGE ", v->lines[0]);
	else
		is_chosen = choose(e, v);
	values_fini(v);
	free(v);
	return is_chosen;
}

void values_turn(struct entry *e, const struct names *names, bool is_forward)
{
	struct values *v = calloc(1, sizeof(*v));
	char why[2048];

	if (v && values_load(e, names, v, why, sizeof(why)) == 0 &&
	    !v->is_range && !v->has_words)
		entry_turn(e, v->lines, v->count, is_forward);
	if (v)
		values_fini(v);
	free(v);
}

/* ---- Checking ----------------------------------------------------------- */

int values_check(const struct entry *e, const struct names *names, char *why,
		 size_t size)
{
	int error = entry_check(e, why, size);
	struct values *v;

	if (error || !e->value[0] || !entry_is_sent(e) ||
	    entry_word(e, "cmd_to_list_mode")[0] != 'r')
		return error;
	v = calloc(1, sizeof(*v));
	if (v && values_load(e, names, v, why, size) == 0 && v->is_range &&
	    !answer_is_in_range(v->lines[0], e->value)) {
		snprintf(why, size, "%s is not in %s.", e->value, v->lines[0]);
		error = -EINVAL;
	} else {
		/* The command judges, if the range is not to be had. */
		why[0] = '\0';
	}
	if (v)
		values_fini(v);
	free(v);
	return error;
}
