/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smit: screens from which device commands are run (also: smitty).
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attrdb/object.h"
#include "cmd/database.h"
#include "cmd/smit/choose.h"
#include "cmd/smit/dialog.h"
#include "cmd/smit/journal.h"
#include "cmd/smit/popup.h"
#include "cmd/smit/screen.h"
#include "cmd/smit/shell.h"
#include "cmd/version.h"
#include "conf/predefined.h"

#define DEPTH_MAX 16 /* of menus */

static struct cmd cmd = {
    .name = "smit",
    .usage = "smit [-C] [-x] [-t] [-l File] [-s File] [FastPath]\n"
	     "smit -h | --version",
};

struct smit {
	struct attrdb *db;
	bool is_run;
	unsigned depth;
	const char *selector; /* that led to the dialog; NULL: none did */
};

struct request {
	struct journal_places places;
	const char *fast_path;
	bool is_logged_only;
};

/* ---- Screens ------------------------------------------------------------ */

static void show(struct smit *smit, enum screen_kind kind, const char *id,
		 const struct names *names);

static const char *help_of(void *owner, unsigned line)
{
	const struct screen *menu = owner;

	return menu->parts[line].help;
}

static void show_menu(struct smit *smit, const struct screen *menu,
		      const struct names *names)
{
	char **lines = calloc(menu->count + 1, sizeof(*lines));
	struct choose c = {.title = screen_title(menu),
			   .lines = lines,
			   .count = menu->count,
			   .fast_path = menu->id,
			   .help = help_of};

	if (!lines || menu->count == 0) {
		free(lines);
		return;
	}
	/* The menu library only reads them. */
	for (unsigned i = 0; i < menu->count; i++)
		lines[i] = strdup(screen_part_word(menu, i, "text"));
	c.owner = (struct screen *)(uintptr_t)menu;
	journal_note("Menu \"%s\": %s", menu->id, screen_title(menu));
	while (choose_run(&c))
		show(smit, screen_next(menu, c.current),
		     screen_part_word(menu, c.current, "next_id"), names);
	for (unsigned i = 0; i < menu->count; i++)
		free(lines[i]);
	free(lines);
}

static void show_selector(struct smit *smit, const struct screen *selector,
			  const struct names *names)
{
	struct names more = *names;

	if (!dialog_select(selector, &more))
		return;
	smit->selector = selector->id;
	show(smit, screen_follows(selector), screen_word(selector, "next_id"),
	     &more);
	smit->selector = NULL;
}

static void show(struct smit *smit, enum screen_kind kind, const char *id,
		 const struct names *names)
{
	struct screen screen;
	char why[256];
	int error = smit->depth < DEPTH_MAX
			? screen_load(smit->db, kind, id, &screen)
			: -ELOOP;

	if (error) {
		snprintf(why, sizeof(why), "The screen \"%s\": %s", id,
			 strerror(-error));
		popup_message(" ERROR ", why);
		return;
	}
	smit->depth++;
	switch (kind) {
	case SCREEN_MENU:
		show_menu(smit, &screen, names);
		break;
	case SCREEN_SELECTOR:
		show_selector(smit, &screen, names);
		break;
	case SCREEN_DIALOG:
		dialog_run(&screen, names, smit->selector ? smit->selector : id,
			   smit->is_run);
		break;
	case SCREEN_NONE:
		break;
	}
	smit->depth--;
	screen_fini(&screen);
}

/* ---- The database ------------------------------------------------------- */

static int count_one(void *owner, const struct stanza *s)
{
	unsigned *count = owner;

	(void)s;
	++*count;
	return 0;
}

static bool has_screens(struct attrdb *db)
{
	static const struct criteria all;
	unsigned count = 0;

	return attrdb_object_each(db, odm_class_find("sm_menu_opt"), &all,
				  count_one, &count) == 0 &&
	       count > 0;
}

/*
 * A database that cannot be read, or that an older mkdev made, has no screens:
 * the predefined ones serve, and the commands say what is wrong.
 */
static int open_screens(struct attrdb **out)
{
	static const struct attrdb_place memory = {"", ATTRDB_CREATE, 0};
	struct attrdb_place place = {attrdb_dir(), ATTRDB_READ, 0};
	char why[512];

	if (attrdb_open(out, &place, why, sizeof(why)) == 0) {
		if (has_screens(*out))
			return EXIT_DONE;
		attrdb_close(*out);
	}
	if (attrdb_open(out, &memory, why, sizeof(why)) != 0)
		return message_command(&cmd, MESSAGE_SYSTEM, why);
	if (predefined_load(*out, why, sizeof(why)) == 0 && has_screens(*out))
		return EXIT_DONE;
	message_command(&cmd, MESSAGE_SYSTEM,
			why[0] ? why : "smit.stanza: there are no screens.");
	attrdb_close(*out);
	return EXIT_REFUSED;
}

/* ---- Arguments ---------------------------------------------------------- */

static int say(const char *words)
{
	fprintf(stderr, "%s: %s\n", cmd.name, words);
	return EXIT_REFUSED;
}

/* A flag, or -1: it was answered, with *status. */
static int take_flag(struct request *r, int flag, int *status)
{
	switch (flag) {
	case 'C':
		return 0; /* there is no other kind of screen */
	case 'x':
		r->is_logged_only = true;
		return 0;
	case 't':
		r->places.traces = true;
		return 0;
	case 'l':
		r->places.log = optarg;
		return 0;
	case 's':
		r->places.script = optarg;
		return 0;
	case 'h':
		*status = message_help(&cmd);
		return -1;
	case ':':
		*status = message_usage(&cmd, "-%c needs an argument.", optopt);
		return -1;
	default:
		*status = message_usage(&cmd, "no such flag.");
		return -1;
	}
}

static bool read_arguments(struct request *r, int argc, char **argv,
			   int *status)
{
	int flag;

	opterr = 0;
	while ((flag = getopt(argc, argv, ":Cxtl:s:h")) != -1)
		if (take_flag(r, flag, status) < 0)
			return false;
	r->fast_path = optind < argc ? argv[optind] : SCREEN_ROOT;
	if (optind + 1 < argc) {
		*status = message_usage(&cmd, "one fast path at most.");
		return false;
	}
	return true;
}

/* ---- Running ------------------------------------------------------------ */

static int unknown_path(const char *path)
{
	fprintf(stderr,
		"%s: there is no fast path \"%s\". smcr, mksmcr, chsmcr, "
		"rmsmcr, smcrstat and ofed are some; smit alone begins at the "
		"top.\n",
		cmd.name, path);
	return EXIT_REFUSED;
}

static int run(struct smit *smit, const struct request *r)
{
	static const struct names none;
	char id[SCREEN_ID_SIZE], why[1024];
	int error;
	enum screen_kind kind = screen_find(smit->db, r->fast_path, id, &error);

	if (error)
		return database_error(&cmd, smit->db, error);
	if (kind == SCREEN_NONE)
		return unknown_path(r->fast_path);
	if (journal_open(&r->places, why, sizeof(why)) != 0 ||
	    terminal_begin(why, sizeof(why)) != 0)
		return say(why);
	shell_find_commands();
	journal_note("smit begins, fast path \"%s\"", r->fast_path);
	show(smit, kind, id, &none);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	struct request r = {0};
	struct smit smit = {0};
	int status;

	setlocale(LC_ALL, "");
	if (strcmp(slash ? slash + 1 : argv[0], "smitty") == 0)
		cmd.name = "smitty";
	if (version_answer(cmd.name, argc, argv, &status))
		return status;
	if (!read_arguments(&r, argc, argv, &status))
		return message_end(&cmd, status);
	status = open_screens(&smit.db);
	if (status != EXIT_DONE)
		return status;
	smit.is_run = !r.is_logged_only;
	status = run(&smit, &r);
	journal_close();
	attrdb_close(smit.db);
	return status;
}
