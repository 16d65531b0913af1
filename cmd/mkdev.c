/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mkdev: defines a device and makes it Available.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/object.h"
#include "conf/devconf.h"
#include "conf/predefined.h"

#include "change.h"
#include "command.h"
#include "database.h"
#include "kind.h"
#include "parent.h"
#include "target.h"

static struct cmd cmd = {
    .name = "mkdev",
    .usage = "mkdev {[-c Class] [-s Subclass] [-t Type]} [-l Name]\n"
	     "      [-a Attribute=Value]... [-d | -S | -R] [-p ParentName]\n"
	     "      [-w ConnectionLocation] [-f File] [-q] [-h]\n"
	     "mkdev -l Name [-S | -R] [-f File] [-q] [-h]",
};

struct request {
	struct attrdb_kind kind;
	struct target target;
	bool defines_only, stops, with_parents;
	struct attrdb_device device; /* what it became */
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	switch (flag) {
	case 'd':
		r->defines_only = true;
		break;
	case 'S':
		r->stops = true;
		break;
	case 'R':
		r->with_parents = true;
		break;
	default:
		return kind_take(&r->kind, flag, argument)
			   ? EXIT_DONE
			   : target_take(&cmd, &r->target, flag, argument);
	}
	return EXIT_DONE;
}

static int check_request(const struct request *r)
{
	const struct target *t = &r->target;

	if (!kind_is_named(&r->kind) && !t->name)
		return message_usage(&cmd, "-c, -s, -t or -l is needed.");
	if (!kind_is_named(&r->kind) &&
	    (t->assign.count || t->parent || t->connection || r->defines_only))
		return message_usage(
		    &cmd, "-a, -d, -p and -w need -c, -s or -t as well.");
	if (r->defines_only + r->stops + r->with_parents > 1)
		return message_usage(&cmd, "-d, -S and -R exclude each other.");
	return EXIT_DONE;
}

static int database_failed(const struct method *m, int error)
{
	return database_error(&cmd, m->db, error);
}

static int keep_prefix(void *owner, const struct stanza *s)
{
	snprintf(owner, ODM_NAME_SIZE, "%s", stanza_string(s, "prefix"));
	return 0;
}

static int new_name(struct method *m, const char *uniquetype, char *out)
{
	const struct odm_class *c = odm_class_find("PdDv");
	struct criteria which;
	char prefix[ODM_NAME_SIZE] = "";
	int error;

	/* A uniquetype is shorter than any value may be. */
	criteria_equal(c, "uniquetype", uniquetype, &which);
	error = attrdb_object_each(m->db, c, &which, keep_prefix, prefix);
	if (!error)
		error = attrdb_next_name(m->db, prefix, out);
	return error ? database_failed(m, error) : EXIT_DONE;
}

/*
 * There is one engine on a host, so there is one device: one that is Defined
 * is taken again, as if it had been named; so is one that the run directory
 * does not know any more, because the host was started anew.
 */
static int take_existing(struct method *m, const struct request *r,
			 const struct attrdb_device *device)
{
	struct details d = {0};

	int status = method_status(device->status, device->uniquetype);

	if (!r->defines_only && status != ODM_STATUS_AVAIL)
		return EXIT_DONE;
	details_add(&d, "%s is %s", device->name, method_state_name(status));
	return message_method(m->cmd, METHOD_DEFINE, MESSAGE_EXISTS, &d);
}

static int define_new(struct method *m, const char *uniquetype,
		      struct attrdb_device *out)
{
	int status, error;

	memset(out, 0, sizeof(*out));
	strcpy(out->uniquetype, uniquetype);
	status = new_name(m, uniquetype, out->name);
	if (status != EXIT_DONE)
		return status;
	error = attrdb_device_put(m->db, out);
	if (!error)
		error = attrdb_history_add(m->db, out->name, "", "Undefined",
					   "Defined");
	return error ? database_failed(m, error) : EXIT_DONE;
}

/* The first form: a kind of device. The second one names a device that is
 * defined already. */
static int define(struct method *m, const struct request *r,
		  struct attrdb_device *out)
{
	const struct target *t = &r->target;
	char uniquetype[ODM_UNIQUE_SIZE];
	struct attrdb_device *list;
	char why[512];
	int status, count;

	status = predefined_load(m->db, why, sizeof(why));
	if (status)
		return database_predefined_failed(&cmd, m->db, status, why);
	status = kind_find(&cmd, m->db, &r->kind, uniquetype);
	if (status != EXIT_DONE)
		return EXIT_REFUSED;
	count = attrdb_device_list(m->db, NULL, uniquetype, &list);
	if (count < 0)
		return database_failed(m, count);
	if (count > 0) {
		*out = list[0];
		free(list);
		status = take_existing(m, r, out);
	} else {
		free(list);
		status = define_new(m, uniquetype, out);
	}
	if (status == EXIT_DONE && t->name && strcmp(t->name, out->name) != 0)
		return message_command(&cmd, MESSAGE_BAD_PARAMETER, t->name);
	return status == EXIT_DONE
		   ? parent_set(m, out, METHOD_DEFINE, t->parent, t->connection)
		   : status;
}

static int configure_parents(struct method *m,
			     const struct attrdb_device *device, int depth)
{
	struct attrdb_device parent;
	int status;

	if (!device->parent[0] || depth == 0 ||
	    attrdb_device_get(m->db, device->parent, &parent) != 0 ||
	    parent.status == ODM_STATUS_AVAIL)
		return EXIT_DONE;
	status = configure_parents(m, &parent, depth - 1);
	return status == EXIT_DONE ? method_configure(m, &parent) : status;
}

static int make(struct method *m, void *request)
{
	struct request *r = request;
	struct attrdb_device *device = &r->device;
	int status = kind_is_named(&r->kind)
			 ? define(m, r, device)
			 : target_find(m, &r->target, device);

	/* Its attributes come first, so it is configured once. */
	if (status == EXIT_DONE && r->target.assign.count)
		status = change_attributes(m, device, &r->target.assign,
					   CHANGE_DATABASE_ONLY);
	if (status == EXIT_DONE && r->with_parents)
		status = configure_parents(m, device, 8);
	if (status == EXIT_DONE && !r->defines_only)
		status = method_configure(m, device);
	return status;
}

static int run(void *request, char *const *argv)
{
	const struct request *r = request;
	int status = check_request(r);

	if (status == EXIT_DONE)
		status = method_change(&cmd, kind_is_named(&r->kind), argv,
				       make, request);
	if (status == EXIT_DONE)
		message_result(&cmd, "%s %s", r->device.name,
			       method_state_name(r->device.status));
	return status;
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "a:c:s:t:l:p:w:dSRq",
					       take_flag, run, NULL};
	struct request r = {0};
	int status = command_main(&command, &r, argc, argv);

	target_fini(&r.target);
	return status;
}
