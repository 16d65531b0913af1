/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * chdev: changes attributes of a device.
 */
#include <errno.h>

#include "change.h"
#include "command.h"
#include "database.h"
#include "parent.h"

static struct cmd cmd = {
    .name = "chdev",
    .usage = "chdev -l Name [-a Attribute=Value]... [-p ParentName]\n"
	     "      [-w ConnectionLocation] [-P | -T | -U] [-f File] [-q] [-g] "
	     "[-h]",
};

struct request {
	struct assign assign;
	const char *name, *parent, *connection;
	bool database_only, running_only, live;
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	switch (flag) {
	case 'a':
		if (assign_add(&r->assign, argument) != 0)
			return message_usage(&cmd, "-a needs Attribute=Value.");
		break;
	case 'l':
		r->name = argument;
		break;
	case 'p':
		r->parent = argument;
		break;
	case 'w':
		r->connection = argument;
		break;
	case 'P':
		r->database_only = true;
		break;
	case 'T':
		r->running_only = true;
		break;
	case 'U':
		r->live = true;
		break;
	case 'g': /* no device of ours can be locked by somebody else */
		break;
	default:
		return EXIT_REFUSED;
	}
	return EXIT_DONE;
}

static int check_request(const struct request *r)
{
	if (!r->name)
		return message_usage(&cmd, "-l is needed.");
	if (r->database_only + r->running_only + r->live > 1)
		return message_usage(&cmd, "-P, -T and -U exclude each other.");
	return EXIT_DONE;
}

static enum change_scope scope_of(const struct request *r)
{
	if (r->database_only)
		return CHANGE_DATABASE_ONLY;
	if (r->running_only)
		return CHANGE_RUNNING_ONLY;
	return r->live ? CHANGE_BOTH_LIVE : CHANGE_BOTH;
}

static int change(struct method *m, void *request)
{
	const struct request *r = request;
	struct attrdb_device device;
	int error =
	    m->db ? attrdb_device_get(m->db, r->name, &device) : -ENOENT;
	int status;

	if (error == -ENOENT)
		return message_command(&cmd, MESSAGE_NO_DEVICE, r->name);
	if (error)
		return database_error(&cmd, m->db, error);
	status =
	    parent_set(m, &device, METHOD_CHANGE, r->parent, r->connection);
	return status == EXIT_DONE
		   ? change_attributes(m, &device, &r->assign, scope_of(r))
		   : status;
}

static int run(void *request, char *const *argv)
{
	const struct request *r = request;
	int status = check_request(r);

	if (status == EXIT_DONE)
		status = method_change(&cmd, false, argv, change, request);
	if (status == EXIT_DONE)
		message_result(&cmd, "%s changed", r->name);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "a:l:p:w:PTUgq", take_flag,
					       run};
	struct request r = {0};
	int status = command_main(&command, &r, argc, argv);

	assign_fini(&r.assign);
	return status;
}
