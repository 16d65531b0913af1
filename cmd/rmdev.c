/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rmdev: takes a device out of use, and with -d out of the database.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "database.h"
#include "method.h"

#define DEPTH_MAX 16 /* of children below children */
#define DONE_MAX  64 /* devices in one command */

static struct cmd cmd = {
    .name = "rmdev",
    .usage = "rmdev {-l | -p} Name [-d | -S] [-R] [-f File] [-q] [-g] [-h]",
};

/* What was done, in order: printed when all of it is kept. */
struct done {
	unsigned count;
	struct {
		char name[ODM_NAME_SIZE];
		const char *state;
	} devices[DONE_MAX];
};

struct request {
	const char *name, *parent;
	bool undefines, stops, with_children;
	struct done done;
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	switch (flag) {
	case 'l':
		r->name = argument;
		break;
	case 'p':
		r->parent = argument;
		break;
	case 'd':
		r->undefines = true;
		break;
	case 'S':
		r->stops = true;
		break;
	case 'R':
		r->with_children = true;
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
	if (!r->name == !r->parent)
		return message_usage(&cmd, "either -l or -p is needed.");
	if (r->undefines && r->stops)
		return message_usage(&cmd, "-d and -S exclude each other.");
	return EXIT_DONE;
}

static int note(struct done *done, const char *name, const char *state)
{
	if (done->count == DONE_MAX)
		return message_command(&cmd, MESSAGE_SYSTEM,
				       "too many devices for one command");
	strcpy(done->devices[done->count].name, name);
	done->devices[done->count++].state = state;
	return EXIT_DONE;
}

/* -S: our devices have no Stop method, so there is nothing to do. */
static int remove_one(struct method *m, struct request *r,
		      struct attrdb_device *device)
{
	int status = EXIT_DONE;

	if (!r->stops &&
	    (device->status != ODM_STATUS_DEFINED || method_is_left(device)))
		status = method_unconfigure(m, device);
	if (status == EXIT_DONE && r->undefines)
		status = method_undefine(m, device);
	return status == EXIT_DONE
		   ? note(&r->done, device->name,
			  r->undefines ? "deleted"
				       : method_state_name(device->status))
		   : status;
}

/*
 * The device and all below it, children first. The depth ends a circle of
 * parents, which no command makes.
 */
static int remove_tree(struct method *m, struct request *r,
		       struct attrdb_device *device, int depth)
{
	struct attrdb_device *list;
	int status = EXIT_DONE;
	int count =
	    depth ? attrdb_device_list(m->db, device->name, NULL, &list) : 0;

	if (count < 0)
		return database_error(&cmd, m->db, count);
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = remove_tree(m, r, &list[i], depth - 1);
	if (depth)
		free(list);
	return status == EXIT_DONE ? remove_one(m, r, device) : status;
}

static int remove_children(struct method *m, struct request *r)
{
	struct attrdb_device *list;
	int status = EXIT_DONE;
	int count = attrdb_device_list(m->db, r->parent, NULL, &list);

	if (count < 0)
		return database_error(&cmd, m->db, count);
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = remove_tree(m, r, &list[i], DEPTH_MAX);
	free(list);
	return status;
}

/*
 * The database does not have it: a mkdev that was killed may have begun it, or
 * the database was taken away. Or there is no using it; what it says of the
 * device is out of date from now on, and lsdev shows that.
 */
static int remove_left(struct method *m, struct request *r)
{
	int status = method_clear(m, r->name);

	if (status == EXIT_DONE && m->lacks_db) {
		message_note(&cmd,
			     "%s is out of service; the database is as it was",
			     r->name);
		return note(&r->done, r->name, "Defined");
	}

	return status == EXIT_DONE
		   ? note(&r->done, r->name,
			  r->undefines ? "deleted" : "Undefined")
		   : status;
}

static int remove_named(struct method *m, void *request)
{
	struct request *r = request;
	const char *name = r->name ? r->name : r->parent;
	struct attrdb_device device;
	int error = m->db ? attrdb_device_get(m->db, name, &device) : -ENOENT;

	if (error == -ENOENT)
		return r->name && !r->stops
			   ? remove_left(m, r)
			   : message_command(&cmd, MESSAGE_NO_DEVICE, name);
	if (error)
		return database_error(&cmd, m->db, error);
	if (r->parent)
		return remove_children(m, r);
	return r->with_children ? remove_tree(m, r, &device, DEPTH_MAX)
				: remove_one(m, r, &device);
}

static int run(void *request, char *const *argv)
{
	const struct request *r = request;
	int status = check_request(r);

	cmd.ends_anyway = r->name && !r->undefines && !r->stops;
	if (status == EXIT_DONE)
		status =
		    method_change(&cmd, false, argv, remove_named, request);
	for (unsigned i = 0; i < r->done.count && status == EXIT_DONE; i++)
		message_result(&cmd, "%s %s", r->done.devices[i].name,
			       r->done.devices[i].state);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "l:p:dSRgq", take_flag,
					       run, NULL};
	struct request r = {0};

	return command_main(&command, &r, argc, argv);
}
