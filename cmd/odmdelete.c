/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmdelete: removes objects of a class.
 */
#include <string.h>

#include "command.h"
#include "odm_edit.h"
#include "odm_objects.h"

static struct cmd cmd = {
    .name = "odmdelete",
    .usage = "odmdelete -o Class [-q Criteria]",
};

struct request {
	struct odm_selection selection;
	const struct odm_class *c;
	struct criteria which;
	unsigned removed;
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	*(flag == 'o' ? &r->selection.class_name : &r->selection.criteria) =
	    argument;
	return EXIT_DONE;
}

static int remove_all(struct method *m, void *request)
{
	struct request *r = request;
	struct odm_objects objects = {0};
	struct odm_edit e = {.m = m};
	int status;

	if (!m->db)
		return EXIT_DONE;
	status = odm_objects_find(m, r->c, &r->which, &objects);
	for (unsigned i = 0; i < objects.count && status == EXIT_DONE; i++)
		status = odm_edit(&e, &objects.list[i], NULL);
	r->removed = objects.count;
	status = odm_edit_end(&e, status);
	odm_objects_fini(&objects);
	return status;
}

static int run(void *request, char *const *argv)
{
	struct request *r = request;
	int status = odm_selection_parse(&cmd, &r->selection, &r->c, &r->which);

	if (status == EXIT_DONE)
		status = method_change(&cmd, false, argv, remove_all, request);
	if (status == EXIT_DONE)
		message_result(&cmd, "0518-307 odmdelete: %u objects deleted.",
			       r->removed);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "o:q:", take_flag, run,
					       NULL};
	struct request r = {0};

	return command_main(&command, &r, argc, argv);
}
