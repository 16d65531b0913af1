/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dialog: the screens that end in a command. */
#include "cmd/smit/dialog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/smit/answer.h"
#include "cmd/smit/edit.h"
#include "cmd/smit/journal.h"
#include "cmd/smit/outcome.h"
#include "cmd/smit/popup.h"
#include "cmd/smit/sheet.h"
#include "cmd/smit/values.h"

#define ERRORS_SIZE 8192

struct dialog {
	const struct screen *screen;
	struct names names;
	struct sheet sheet;
	struct entry *entries;
	bool is_run;
	char command[COMMAND_LINE_SIZE];
};

/* ---- A selector --------------------------------------------------------- */

bool dialog_select(const struct screen *selector, struct names *names)
{
	struct entry e;
	const char *name = screen_word(selector, "raw_field_name");

	journal_note("Selector \"%s\": %s", selector->id,
		     screen_title(selector));
	entry_init(&e, &selector->parts[0].object);
	return values_choose(&e, names) && e.value[0] &&
	       names_put(names, name, e.value) == 0;
}

/* ---- The first values --------------------------------------------------- */

/* true: the fields have what the command found out, or there is none. */
static bool discover(struct dialog *d, char **found)
{
	const struct screen *s = d->screen;
	const char *command = screen_word(s, "cmd_to_discover");
	struct shell_result r = {0};
	int error;

	*found = strdup("");
	if (!command[0])
		return *found != NULL;
	error =
	    command_line_ask(command, screen_word(s, "cmd_to_discover_postfix"),
			     &d->names, d->command);
	journal_trace("Asked for values:\n%s", d->command);
	if (!error)
		error = shell_run(d->command, &r, NULL, NULL);
	if (error)
		popup_message(" ERROR ", strerror(-error));
	else if (!shell_is_done(&r))
		popup_message(" ERROR ", r.err.bytes);
	free(*found);
	*found = error || !shell_is_done(&r) ? NULL : strdup(r.out.bytes);
	shell_fini(&r);
	return *found != NULL;
}

static bool fill(struct dialog *d)
{
	char value[ENTRY_VALUE_SIZE];
	char *found;

	if (!discover(d, &found))
		return false;
	for (unsigned i = 0; i < d->screen->count; i++) {
		struct entry *e = &d->entries[i];
		const char *name, *known;

		entry_init(e, &d->screen->parts[i].object);
		name = entry_word(e, "disc_field_name");
		known = names_value(&d->names, name);
		if (known)
			entry_start(e, known);
		else if (name[0] &&
			 answer_value(found, name, value, sizeof(value)))
			entry_start(e, value);
	}
	free(found);
	return true;
}

/* ---- Doing -------------------------------------------------------------- */

static bool make_command(struct dialog *d)
{
	if (command_line_make(d->screen, d->entries, d->command) == 0)
		return true;
	popup_message(" ERROR ", "The command would be too long.");
	return false;
}

static void point_at(struct dialog *d, unsigned i, const char *why)
{
	d->sheet.current = i;
	snprintf(d->sheet.why, sizeof(d->sheet.why), "%s", why);
	beep();
}

static bool check(struct dialog *d)
{
	char why[SHEET_WHY_SIZE];

	for (unsigned i = 0; i < d->screen->count; i++) {
		if (values_check(&d->entries[i], &d->names, why, sizeof(why)) ==
		    0)
			continue;
		point_at(d, i, why);
		return false;
	}
	return true;
}

/* The command names the attribute that it did not like. */
static void blame(struct dialog *d, const char *errors)
{
	char why[SHEET_WHY_SIZE];

	for (unsigned i = 0; i < d->screen->count; i++) {
		const char *name =
		    entry_word(&d->entries[i], "disc_field_name");

		if (answer_blames(errors, name, why, sizeof(why))) {
			point_at(d, i, why);
			return;
		}
	}
}

static bool is_sure(const struct dialog *d)
{
	return screen_word(d->screen, "ask")[0] != 'y' ||
	       popup_message(
		   " ARE YOU SURE? ",
		   "What the command deletes cannot be brought back, and what "
		   "it stops is stopped for all who use it.\n\n"
		   "Enter goes on; F3 goes back, and nothing happens.");
}

static void run_command(struct dialog *d)
{
	char errors[ERRORS_SIZE];

	if (!make_command(d) || !is_sure(d))
		return;
	switch (outcome_show(d->command, d->is_run, errors, sizeof(errors))) {
	case OUTCOME_DONE:
		/* From here on "changed" means: changed once more. */
		for (unsigned i = 0; i < d->screen->count; i++)
			entry_keep(&d->entries[i]);
		break;
	case OUTCOME_FAILED:
		blame(d, errors);
		break;
	case OUTCOME_NOT_RUN:
		break;
	}
}

/* ---- Keys --------------------------------------------------------------- */

static struct entry *current(struct dialog *d)
{
	return &d->entries[d->sheet.current];
}

static void show_help(const struct dialog *d)
{
	const char *help = d->screen->parts[d->sheet.current].help;

	popup_message(" HELP ",
		      help[0] ? help : "There is no help for this field.");
}

static void list(struct dialog *d)
{
	if (entry_has_list(current(d)))
		values_choose(current(d), &d->names);
	else
		popup_message(" LIST ", "There is no list for this field.");
}

/* A value that can only be chosen is shown in the list. */
static void edit(struct dialog *d)
{
	if (entry_is_typed(current(d)))
		edit_run(current(d));
	else
		list(d);
}

static void show_command(struct dialog *d)
{
	if (make_command(d))
		popup_message(" SHOW COMMAND ", d->command);
}

/* A key of the dialog's own; false: it is none. */
static bool take_key(struct dialog *d, int key)
{
	switch (key) {
	case TERMINAL_F(1):
		show_help(d);
		return true;
	case TERMINAL_F(4):
		list(d);
		return true;
	case TERMINAL_F(5):
		entry_set(current(d), current(d)->initial);
		return true;
	case TERMINAL_F(6):
		show_command(d);
		return true;
	case TERMINAL_F(7):
		edit(d);
		return true;
	case '\t':
	case TERMINAL_FUNCTION(KEY_BTAB):
		if (!entry_has_list(current(d)))
			return sheet_key(&d->sheet,
					 TERMINAL_FUNCTION(KEY_DOWN));
		values_turn(current(d), &d->names, key == '\t');
		return true;
	case '\r':
	case '\n':
	case TERMINAL_FUNCTION(KEY_ENTER):
		if (check(d))
			run_command(d);
		return true;
	default:
		return false;
	}
}

static void read_keys(struct dialog *d)
{
	struct sheet *s = &d->sheet;
	int key;

	while ((key = popup_key()) != TERMINAL_F(3)) {
		if (s->why[0]) {
			s->why[0] = '\0';
			sheet_take(s);
			sheet_update(s);
		}
		if (sheet_key(s, key))
			continue;
		sheet_take(s);
		if (!take_key(d, key))
			beep();
		sheet_update(s);
	}
}

/* ---- Running ------------------------------------------------------------ */

/* Without fields, or where nobody is to see them, the command runs at once. */
static bool is_ghost(const struct screen *s)
{
	return s->count == 0 || screen_word(s, "ghost")[0] == 'y';
}

static void run(struct dialog *d, const char *fast_path)
{
	if (is_ghost(d->screen)) {
		run_command(d);
		return;
	}
	d->sheet.title = screen_title(d->screen);
	d->sheet.entries = d->entries;
	d->sheet.count = d->screen->count;
	sheet_open(&d->sheet, fast_path);
	read_keys(d);
	sheet_close(&d->sheet);
}

void dialog_run(const struct screen *dialog, const struct names *names,
		const char *fast_path, bool is_run)
{
	struct dialog *d = calloc(1, sizeof(*d));

	journal_note("Dialog \"%s\": %s", dialog->id, screen_title(dialog));
	if (d && dialog->count <= SHEET_FIELDS_MAX)
		d->entries = calloc(dialog->count + 1, sizeof(*d->entries));
	if (d && d->entries) {
		d->screen = dialog;
		d->names = *names;
		d->is_run = is_run;
		if (fill(d))
			run(d, fast_path);
	}
	if (d)
		free(d->entries);
	free(d);
}
