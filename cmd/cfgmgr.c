/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cfgmgr: configures the devices that are Defined.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "database.h"
#include "method.h"

#define DEPTH_MAX 16 /* as rmdev -R goes down */

static struct cmd cmd = {
    .name = "cfgmgr",
    .usage = "cfgmgr [-f | -s | -p Phase] [-i Device] [-l Name] [-v]",
};

struct request {
	const char *name; /* NULL: all devices */
	bool is_verbose, is_first_phase;
	unsigned phases; /* flags that name one */
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	switch (flag) {
	case 'l':
		r->name = argument;
		break;
	case 'v':
		r->is_verbose = true;
		break;
	case 'p':
		if (strlen(argument) != 1 || !strchr("123", argument[0]))
			return message_usage(&cmd, "a phase is 1, 2 or 3.");
		flag = argument[0] == '1' ? 'f' : 's';
		/* fall through */
	case 'f':
	case 's':
		r->phases++;
		r->is_first_phase = flag == 'f';
		break;
	default: /* -i: packages come from apt */
		break;
	}
	return EXIT_DONE;
}

static int configure_one(struct method *m, const struct request *r,
			 struct attrdb_device *device)
{
	int status = EXIT_DONE;

	if (r->is_verbose)
		printf("----------------\n"
		       "attempting to configure device '%s'\n"
		       "Time: 0 LEDS: 0x0\n"
		       "invoking " METHOD_CONFIGURE " -l %s\n"
		       "Number of running methods: 1\n",
		       device->name, device->name);
	fflush(stdout);
	if (method_status(device->status, device->uniquetype) !=
	    ODM_STATUS_AVAIL)
		status = method_configure(m, device);
	if (r->is_verbose)
		printf("----------------\n"
		       "Completed method for: %s, Elapsed time = 0\n"
		       "return code = %d\n",
		       device->name, status);
	return status;
}

/* The device, then all below it. The depth ends a circle of parents. */
static int configure_tree(struct method *m, const struct request *r,
			  struct attrdb_device *device, int depth)
{
	struct attrdb_device *list;
	int status = configure_one(m, r, device);
	int count;

	if (status != EXIT_DONE || depth == 0)
		return status;
	count = attrdb_device_list(m->db, device->name, NULL, &list);
	if (count < 0)
		return database_error(&cmd, m->db, count);
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = configure_tree(m, r, &list[i], depth - 1);
	free(list);
	return status;
}

static int configure_all(struct method *m, const struct request *r)
{
	struct attrdb_device *list;
	int status = EXIT_DONE;
	int count = attrdb_device_list(m->db, "", NULL, &list);

	if (count < 0)
		return database_error(&cmd, m->db, count);
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = configure_tree(m, r, &list[i], DEPTH_MAX);
	free(list);
	return status;
}

static int configure(struct method *m, void *request)
{
	const struct request *r = request;
	struct attrdb_device device;
	int error;

	if (!r->name)
		return m->db ? configure_all(m, r) : EXIT_DONE;
	error = m->db ? attrdb_device_get(m->db, r->name, &device) : -ENOENT;
	if (error == -ENOENT)
		return message_command(&cmd, MESSAGE_NO_DEVICE, r->name);
	return error ? database_error(&cmd, m->db, error)
		     : configure_tree(m, r, &device, DEPTH_MAX);
}

static int run(void *request, char *const *argv)
{
	const struct request *r = request;

	if (r->phases > 1 || (r->phases && r->name))
		return message_usage(&cmd,
				     "-f, -s, -p and -l exclude each other.");
	/* Phase 1 has what a host boots from; none of ours is in it. */
	if (r->is_first_phase)
		return EXIT_DONE;
	return method_change(&cmd, false, argv, configure, request);
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "fsp:i:l:v", take_flag,
					       run, NULL};
	struct request r = {0};

	return command_main(&command, &r, argc, argv);
}
