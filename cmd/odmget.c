/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmget: objects of a class, as stanzas.
 */
#include <stdio.h>

#include "attrdb/object.h"

#include "command.h"
#include "database.h"

static struct cmd cmd = {
    .name = "odmget",
    .usage = "odmget [-q Criteria] Class...",
};

struct request {
	const char *criteria;
	char *const *classes;
};

static int show(void *owner, const struct stanza *s)
{
	(void)owner;
	return stanza_write(stdout, s);
}

static int show_class(struct attrdb *db, const char *name,
		      const char *criteria_text)
{
	const struct odm_class *c = odm_class_find(name);
	struct criteria which;
	char why[128];
	int error;

	if (!c)
		return message_command(&cmd, MESSAGE_BAD_PARAMETER, name);
	if (criteria_parse(c, criteria_text, &which, why, sizeof(why)) != 0)
		return message_usage(&cmd, "%s: %s", criteria_text, why);
	error = attrdb_object_each(db, c, &which, show, NULL);
	return error ? database_error(&cmd, db, error) : EXIT_DONE;
}

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	(void)flag;
	r->criteria = argument;
	return EXIT_DONE;
}

static int run(void *request, char *const *argv)
{
	const struct request *r = request;
	struct attrdb *db;
	int status;

	(void)argv;
	if (!r->classes[0])
		return message_usage(&cmd, "a class is needed.");
	status = database_open_read(&cmd, &db);
	if (status != EXIT_DONE)
		return status;
	for (int i = 0; r->classes[i] && status == EXIT_DONE; i++)
		status = show_class(db, r->classes[i], r->criteria);
	attrdb_close(db);
	return status;
}

int main(int argc, char **argv)
{
	struct request r = {.criteria = ""};
	const struct command command = {&cmd, "q:", take_flag, run, &r.classes};

	return command_main(&command, &r, argc, argv);
}
