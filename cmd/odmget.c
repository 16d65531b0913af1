/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmget: objects of a class, as stanzas.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attrdb/object.h"

#include "command.h"
#include "database.h"

#define CLASSES_MAX 16

static struct cmd cmd = {
    .name = "odmget",
    .usage = "odmget [-q Criteria] Class...",
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

int main(int argc, char **argv)
{
	const char *criteria_text = "";
	struct attrdb *db;
	int first = 1;
	int status;

	if (argc > 1 && strcmp(argv[1], "-h") == 0)
		return message_help(&cmd);
	if (argc > 2 && strcmp(argv[1], "-q") == 0) {
		criteria_text = argv[2];
		first = 3;
	}
	if (first >= argc || argv[first][0] == '-')
		return message_usage(&cmd, "a class is needed.");
	status = database_open_read(&cmd, &db);
	if (status != EXIT_DONE)
		return status;
	for (int i = first; i < argc && status == EXIT_DONE; i++)
		status = show_class(db, argv[i], criteria_text);
	attrdb_close(db);
	return message_end(&cmd, status);
}
