/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmadd: adds objects, written as stanzas, to their classes.
 */
#include <errno.h>
#include <string.h>

#include "conf/predefined.h"

#include "command.h"
#include "database.h"
#include "odm_edit.h"
#include "odm_objects.h"

static struct cmd cmd = {
    .name = "odmadd",
    .usage = "odmadd [-p] [InputFile...]",
};

struct request {
	char *const *files;
	struct odm_objects objects;
};

static int take_flag(void *request, int flag, char *argument)
{
	(void)request;
	(void)flag; /* -p, progress: there is nothing to wait for */
	(void)argument;
	return EXIT_DONE;
}

static int add_one(struct odm_edit *e, const struct stanza *s)
{
	const struct odm_class *c = odm_class_find(s->class_name);
	struct odm_objects there = {0};
	struct criteria which;
	int status = EXIT_DONE;

	if (c && odm_objects_key(c, s, &which))
		status = odm_objects_find(e->m, c, &which, &there);
	if (status == EXIT_DONE && there.count)
		status = message_usage(
		    &cmd, "%s has this object already; odmchange changes it.",
		    s->class_name);
	odm_objects_fini(&there);
	return status == EXIT_DONE ? odm_edit(e, NULL, s) : status;
}

/*
 * A database that was just made has no kinds of devices yet, unless they are
 * what is to be added.
 */
static int load_kinds(struct method *m, const struct odm_objects *input)
{
	struct odm_objects kinds = {0};
	struct criteria all = {0};
	char why[512];
	int status;

	for (unsigned i = 0; i < input->count; i++)
		if (strcmp(input->list[i].class_name, "PdDv") == 0)
			return EXIT_DONE;
	status = odm_objects_find(m, odm_class_find("PdDv"), &all, &kinds);

	if (status == EXIT_DONE && !kinds.count) {
		int error = predefined_load(m->db, why, sizeof(why));

		if (error)
			status =
			    why[0] ? message_command(&cmd, MESSAGE_SYSTEM, why)
				   : database_error(&cmd, m->db, error);
	}
	odm_objects_fini(&kinds);
	return status;
}

static int add_all(struct method *m, void *request)
{
	const struct request *r = request;
	struct odm_edit e = {.m = m};
	int status = load_kinds(m, &r->objects);

	for (unsigned i = 0; i < r->objects.count && status == EXIT_DONE; i++)
		status = add_one(&e, &r->objects.list[i]);
	return odm_edit_end(&e, status);
}

static int run(void *request, char *const *argv)
{
	struct request *r = request;
	int status = EXIT_DONE;

	if (!r->files[0])
		status = odm_objects_read(&cmd, NULL, &r->objects);
	for (int i = 0; r->files[i] && status == EXIT_DONE; i++)
		status = odm_objects_read(&cmd, r->files[i], &r->objects);
	if (status == EXIT_DONE)
		status = method_change(&cmd, true, argv, add_all, request);
	return status;
}

int main(int argc, char **argv)
{
	struct request r = {0};
	const struct command command = {&cmd, "p", take_flag, run, &r.files};
	int status = command_main(&command, &r, argc, argv);

	odm_objects_fini(&r.objects);
	return status;
}
