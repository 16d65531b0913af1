/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmshow: the description of a class, and how many objects it has.
 */
#include <stdio.h>

#include "attrdb/object.h"

#include "command.h"
#include "database.h"
#include "odm_layout.h"

static struct cmd cmd = {
    .name = "odmshow",
    .usage = "odmshow Class...",
};

static int count_one(void *owner, const struct stanza *s)
{
	(void)s;
	++*(unsigned *)owner;
	return 0;
}

static int show(struct attrdb *db, const char *name)
{
	const struct odm_class *c = odm_class_find(name);
	struct criteria all = {0};
	unsigned count = 0, fields = 0;
	int error;

	if (!c)
		return message_command(&cmd, MESSAGE_BAD_PARAMETER, name);
	error = attrdb_object_each(db, c, &all, count_one, &count);
	if (error)
		return database_error(&cmd, db, error);
	while (c->fields[fields].name)
		fields++;
	odm_layout_print(stdout, c, "class");
	printf("/*\n\tdescriptors:\t%u\n\tkeys:\t\t%u\n"
	       "\tpopulation:\t%u objects\n\tchanged by:\t%s\n*/\n",
	       fields, c->key_count, count,
	       c->is_read_only ? "nobody: it is read only" : "odm commands");
	return EXIT_DONE;
}

/* Says which there are; completion reads it. */
static int need_class(void)
{
	const struct odm_class *c;
	char names[512] = "";
	size_t used = 0;

	for (size_t i = 0; (c = odm_class_at(i)) != NULL; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used,
					 " %s", c->name);
	return message_usage(&cmd, "a class is needed:%s.", names);
}

static int run(void *request, char *const *argv)
{
	char *const *classes = *(char *const **)request;
	struct attrdb *db;
	int status;

	(void)argv;
	if (!classes[0])
		return need_class();
	status = database_open_read(&cmd, &db);
	if (status != EXIT_DONE)
		return status;
	for (int i = 0; classes[i] && status == EXIT_DONE; i++)
		status = show(db, classes[i]);
	attrdb_close(db);
	return status;
}

int main(int argc, char **argv)
{
	char *const *classes = NULL;
	const struct command command = {&cmd, "", NULL, run, &classes};

	return command_main(&command, &classes, argc, argv);
}
