/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmget: objects of a class, as stanzas.
 */
#include <stdio.h>
#include <unistd.h>

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

static int wrong_flag(int option)
{
	char flag[3] = {'-', (char)optopt, '\0'};

	if (option == ':')
		return message_usage(&cmd, "%s needs an argument.", flag);
	message_command(&cmd, MESSAGE_BAD_PARAMETER, flag);
	return message_usage(&cmd, "no such flag.");
}

int main(int argc, char **argv)
{
	const char *criteria_text = "";
	struct attrdb *db;
	int option, status;

	opterr = 0;
	while ((option = getopt(argc, argv, "+:q:h")) != -1) {
		if (option == 'h')
			return message_end(&cmd, message_help(&cmd));
		if (option != 'q')
			return wrong_flag(option);
		criteria_text = optarg;
	}
	if (optind == argc)
		return message_usage(&cmd, "a class is needed.");
	status = database_open_read(&cmd, &db);
	if (status != EXIT_DONE)
		return status;
	for (int i = optind; i < argc && status == EXIT_DONE; i++)
		status = show_class(db, argv[i], criteria_text);
	attrdb_close(db);
	return message_end(&cmd, status);
}
