/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmchange: gives fields of the objects of a class new values.
 */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "database.h"
#include "odm_edit.h"
#include "odm_objects.h"

static struct cmd cmd = {
    .name = "odmchange",
    .usage = "odmchange -o Class [-q Criteria] [InputFile]",
};

struct request {
	struct odm_selection selection;
	char *const *files;
	const struct odm_class *c;
	struct criteria which;
	struct odm_objects input; /* one stanza, with the fields to change */
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	*(flag == 'o' ? &r->selection.class_name : &r->selection.criteria) =
	    argument;
	return EXIT_DONE;
}

static int set_fields(struct stanza *s, const struct stanza *from)
{
	int error = 0;

	for (unsigned i = 0; i < from->field_count && !error; i++) {
		const struct stanza_field *f = &from->fields[i];

		error = f->string ? stanza_set_string(s, f->name, f->string)
				  : stanza_set_number(s, f->name, f->number);
	}
	return error;
}

static bool has_same_key(const struct odm_class *c, const struct stanza *a,
			 const struct stanza *b)
{
	struct criteria before, after;
	bool is_same =
	    odm_objects_key(c, a, &before) && odm_objects_key(c, b, &after);

	for (unsigned i = 0; i < c->key_count && is_same; i++)
		is_same =
		    strcmp(before.terms[i].value, after.terms[i].value) == 0;
	return is_same;
}

static int change_one(struct odm_edit *e, const struct odm_class *c,
		      const struct stanza *old_object,
		      const struct stanza *input)
{
	struct stanza s;
	int error = stanza_init(&s, c->name);
	int status;

	if (!error)
		error = set_fields(&s, old_object);
	if (!error)
		error = set_fields(&s, input);
	if (error)
		status =
		    message_command(&cmd, MESSAGE_SYSTEM, strerror(-error));
	else if (!has_same_key(c, old_object, &s))
		status = message_usage(
		    &cmd, "the fields that name an object of %s stay.",
		    c->name);
	else
		status = odm_edit(e, old_object, &s);
	stanza_fini(&s);
	return status;
}

static int change_all(struct method *m, void *request)
{
	struct request *r = request;
	struct odm_objects objects = {0};
	struct odm_edit e = {.m = m};
	int status;

	if (!m->db)
		return EXIT_DONE;
	status = odm_objects_find(m, r->c, &r->which, &objects);
	for (unsigned i = 0; i < objects.count && status == EXIT_DONE; i++)
		status =
		    change_one(&e, r->c, &objects.list[i], &r->input.list[0]);
	status = odm_edit_end(&e, status);
	odm_objects_fini(&objects);
	return status;
}

static int check_input(const struct request *r)
{
	if (r->input.count != 1)
		return message_usage(&cmd, "one stanza is needed, not %u.",
				     r->input.count);
	return strcmp(r->input.list[0].class_name, r->c->name) == 0
		   ? EXIT_DONE
		   : message_usage(&cmd, "the stanza is of %s, not of %s.",
				   r->input.list[0].class_name, r->c->name);
}

static int run(void *request, char *const *argv)
{
	struct request *r = request;
	int status = odm_selection_parse(&cmd, &r->selection, &r->c, &r->which);

	if (status == EXIT_DONE && r->files[0] && r->files[1])
		return message_command(&cmd, MESSAGE_BAD_PARAMETER,
				       r->files[1]);
	if (status == EXIT_DONE)
		status = odm_objects_read(&cmd, r->files[0], &r->input);
	if (status == EXIT_DONE)
		status = check_input(r);
	return status == EXIT_DONE
		   ? method_change(&cmd, false, argv, change_all, request)
		   : status;
}

int main(int argc, char **argv)
{
	struct request r = {0};
	const struct command command = {&cmd, "o:q:", take_flag, run, &r.files};
	int status = command_main(&command, &r, argc, argv);

	odm_objects_fini(&r.input);
	return status;
}
