/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * chdev: changes attributes of a device.
 */
#include "change.h"
#include "command.h"
#include "parent.h"
#include "target.h"

static struct cmd cmd = {
    .name = "chdev",
    .usage = "chdev -l Name [-a Attribute=Value]... [-p ParentName]\n"
	     "      [-w ConnectionLocation] [-P | -T | -U] [-f File] [-q] [-g] "
	     "[-h]",
};

struct request {
	struct target target;
	bool database_only, running_only, live;
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	switch (flag) {
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
		return target_take(&cmd, &r->target, flag, argument);
	}
	return EXIT_DONE;
}

static int check_request(const struct request *r)
{
	if (!r->target.name)
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
	const struct target *t = &r->target;
	struct attrdb_device device;
	int status = target_find(m, t, &device);

	if (status == EXIT_DONE)
		status = parent_set(m, &device, METHOD_CHANGE, t->parent,
				    t->connection);
	return status == EXIT_DONE
		   ? change_attributes(m, &device, &t->assign, scope_of(r))
		   : status;
}

static int run(void *request, char *const *argv)
{
	const struct request *r = request;
	int status = check_request(r);

	if (status == EXIT_DONE)
		status = method_change(&cmd, false, argv, change, request);
	if (status == EXIT_DONE)
		message_result(&cmd, "%s changed", r->target.name);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "a:l:p:w:PTUgq", take_flag,
					       run, NULL};
	struct request r = {0};
	int status = command_main(&command, &r, argc, argv);

	target_fini(&r.target);
	return status;
}
