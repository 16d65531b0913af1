/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* method: what the commands do to a device. */
#include "method.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/devconf.h"
#include "conf/ldpreload.h"
#include "conf/rundir.h"
#include "smc_r/status/holders.h"

#include "cure.h"
#include "database.h"
#include "service_load.h"

#define HOLDERS_SHOWN_MAX 32

static void undo(struct method *m)
{
	if (m->is_running)
		running_undo(&m->running);
}

static bool is_available(void)
{
	struct snapshot s;

	return snapshot_read(rundir_path(), &s) == 0;
}

int method_change(const struct cmd *cmd, bool creates, char *const *argv,
		  int (*work)(struct method *m, void *request), void *request)
{
	struct method m = {.cmd = cmd};
	struct database_change change;
	int status = database_begin(cmd, creates, argv, &change);

	m.lacks_db = status != EXIT_DONE;
	if (m.lacks_db && (!cmd->ends_anyway || change.error == -EBUSY))
		return status;
	m.db = change.db;
	status = work(&m, request);
	if (status == EXIT_DONE && m.db)
		status = database_commit(cmd, &change);
	if (status != EXIT_DONE)
		undo(&m);
	else if (m.is_running)
		service_follow(cmd->name, is_available());
	if (m.is_running)
		running_fini(&m.running);
	database_end(&change);
	return status;
}

const char *method_state_name(int status)
{
	static const char *const names[] = {
	    [ODM_STATUS_DEFINED] = "Defined",
	    [ODM_STATUS_AVAIL] = "Available",
	    [ODM_STATUS_STOPPED] = "Stopped",
	};

	return status >= 0 && status <= ODM_STATUS_STOPPED ? names[status]
							   : "Undefined";
}

int method_status(int stored, const char *uniquetype)
{
	struct snapshot s;

	return stored == ODM_STATUS_AVAIL &&
		       strcmp(uniquetype, DEVCONF_UNIQUETYPE) == 0 &&
		       snapshot_read(rundir_path(), &s) != 0
		   ? ODM_STATUS_DEFINED
		   : stored;
}

static int complain(const struct method *m, const char *method,
		    enum message number, const char *reason)
{
	struct details d = {0};

	details_add(&d, "%s", reason);
	return message_method(m->cmd, method, number, &d);
}

static int database_failed(const struct method *m, int error)
{
	return database_error(m->cmd, m->db, error);
}

/* Says why the running device could not be changed. */
static int running_failed(const struct method *m, const char *method,
			  enum message number, int error)
{
	if (error == -ENOSPC)
		return message_command(m->cmd, MESSAGE_FULL, m->running.full);
	return complain(m, method, number, m->running.why);
}

/* Did the device, when it was given its values, ask for ld.so.preload? */
static int had_preload(struct method *m, const struct attrdb_device *device,
		       bool *out)
{
	struct attrdb_attribute *list;
	int count;

	if (!m->db)
		return 0;
	count = attrdb_attributes_of_device(m->db, device->name, &list);
	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		*out |= strcmp(list[i].name, "system_preload") == 0 &&
			strcmp(list[i].running, "1") == 0;
	free(list);
	return 0;
}

int method_begin(struct method *m, const struct attrdb_device *device,
		 const char *method)
{
	char reason[PATH_MAX + 256];
	int error;

	if (m->is_running)
		return EXIT_DONE;
	if (rundir_refused())
		return complain(m, method, MESSAGE_SYSTEM,
				RUNDIR_VARIABLE " must be an absolute path");
	error = running_init(&m->running, rundir_path());
	if (error) {
		snprintf(reason, sizeof(reason), "%s/%s: %s\n%s", rundir_path(),
			 RUNDIR_SNAPSHOT, strerror(-error),
			 cure_of(error, RUNDIR_VARIABLE));
		return complain(m, method, MESSAGE_SYSTEM, reason);
	}
	m->is_running = true;
	error = had_preload(m, device, &m->running.had_preload);
	return error ? database_failed(m, error) : EXIT_DONE;
}

static bool is_ours(const struct attrdb_device *device)
{
	return strcmp(device->uniquetype, DEVCONF_UNIQUETYPE) == 0;
}

/* Brings the running device to the running values of the database. */
int method_apply(struct method *m, const struct attrdb_device *device,
		 const char *method)
{
	struct devconf_values values = {0};
	struct attrdb_attribute *list;
	char why[DEVCONF_WHY_SIZE];
	const char *attribute;
	struct snapshot s;
	int count, error, status;

	if (!is_ours(device))
		return complain(m, method, MESSAGE_CANNOT_START,
				"there is no method for this kind of device");
	status = method_begin(m, device, method);
	if (status != EXIT_DONE)
		return status;
	count = attrdb_attributes_of_device(m->db, device->name, &list);
	if (count < 0)
		return database_failed(m, count);
	for (int i = 0; i < count; i++) {
		const char **place = devconf_value(&values, list[i].name);

		if (place)
			*place = list[i].running;
	}
	error = devconf_snapshot(&values, &s, &attribute, why);
	if (error) {
		struct details d = {0};

		details_add(&d, "%s: %s", attribute, why);
		free(list);
		return message_method(m->cmd, method, MESSAGE_BAD_VALUE, &d);
	}
	free(list);
	error = running_start(&m->running, &s);
	return error ? running_failed(m, method, MESSAGE_CANNOT_START, error)
		     : EXIT_DONE;
}

/* ---- Configure and its opposite ----------------------------------------- */

static int set_status(struct method *m, struct attrdb_device *device,
		      int status)
{
	const char *old = method_state_name(device->status);
	int error = 0;

	if (device->status != status) {
		device->status = status;
		error = attrdb_device_put(m->db, device);
		if (!error)
			error = attrdb_history_add(m->db, device->name, "", old,
						   method_state_name(status));
	}
	return error ? database_failed(m, error) : EXIT_DONE;
}

static int check_parent(const struct method *m,
			const struct attrdb_device *device)
{
	struct attrdb_device parent;
	char reason[128];
	int error;

	if (!device->parent[0])
		return EXIT_DONE;
	error = attrdb_device_get(m->db, device->parent, &parent);
	if (error && error != -ENOENT)
		return database_failed(m, error);
	if (!error && parent.status == ODM_STATUS_AVAIL)
		return EXIT_DONE;
	snprintf(reason, sizeof(reason), "parent %s is %s", device->parent,
		 error ? "Undefined" : method_state_name(parent.status));
	return complain(m, METHOD_CONFIGURE, MESSAGE_RELATIVE_STATE, reason);
}

int method_configure(struct method *m, struct attrdb_device *device)
{
	int status = check_parent(m, device);
	int error;

	if (status == EXIT_DONE)
		status = method_begin(m, device, METHOD_CONFIGURE);
	if (status != EXIT_DONE)
		return status;
	error = attrdb_configured_set(m->db, device->name);
	if (error)
		return database_failed(m, error);
	/* The database first: it is the easier one to take back. */
	status = set_status(m, device, ODM_STATUS_AVAIL);
	return status == EXIT_DONE ? method_apply(m, device, METHOD_CONFIGURE)
				   : status;
}

static int check_children(const struct method *m,
			  const struct attrdb_device *device)
{
	struct attrdb_device *list;
	struct details d = {0};
	int count = attrdb_device_list(m->db, device->name, NULL, &list);

	if (count < 0)
		return database_failed(m, count);
	for (int i = 0; i < count; i++)
		if (list[i].status != ODM_STATUS_DEFINED)
			details_add(&d, "child %s is %s", list[i].name,
				    method_state_name(list[i].status));
	free(list);
	return d.used ? message_method(m->cmd, METHOD_UNCONFIGURE,
				       MESSAGE_RELATIVE_STATE, &d)
		      : EXIT_DONE;
}

/* Prints the processes that hold connections, one line each. */
static int check_holders(const struct method *m)
{
	struct holder list[HOLDERS_SHOWN_MAX];
	char reason[PATH_MAX + 256];
	struct details d = {0};
	int count = holders_list(rundir_path(), list, HOLDERS_SHOWN_MAX);

	if (count < 0) {
		snprintf(reason, sizeof(reason), "%s/" RUNDIR_USERS ": %s\n%s",
			 rundir_path(), strerror(-count),
			 cure_of(count, RUNDIR_VARIABLE));
		return complain(m, METHOD_UNCONFIGURE, MESSAGE_SYSTEM, reason);
	}
	for (int i = 0; i < count && i < HOLDERS_SHOWN_MAX; i++)
		details_add(&d, "%s (pid %ld): %u connection%s",
			    list[i].program, (long)list[i].pid,
			    list[i].connections,
			    list[i].connections == 1 ? "" : "s");
	if (count > HOLDERS_SHOWN_MAX)
		details_add(&d, "and %d processes more",
			    count - HOLDERS_SHOWN_MAX);
	return count ? message_method(m->cmd, METHOD_UNCONFIGURE, MESSAGE_BUSY,
				      &d)
		     : EXIT_DONE;
}

static int stop(struct method *m)
{
	int error = running_stop(&m->running);
	int status;

	if (error)
		return running_failed(m, METHOD_UNCONFIGURE,
				      MESSAGE_CANNOT_STOP, error);
	/* A connection may have begun between question and stop. */
	status = check_holders(m);
	if (status == EXIT_DONE && m->running.keeps_line)
		message_note(m->cmd,
			     "its line is left in %s; run the command again "
			     "when that can be written to",
			     ldpreload_path());
	if (status != EXIT_DONE)
		undo(m);
	return status;
}

int method_unconfigure(struct method *m, struct attrdb_device *device)
{
	int status = check_children(m, device);
	int error;

	if (status == EXIT_DONE && is_ours(device))
		status = method_begin(m, device, METHOD_UNCONFIGURE);
	if (status == EXIT_DONE && is_ours(device))
		status = check_holders(m);
	if (status != EXIT_DONE)
		return status;
	/* The database first: it is the easier one to take back. */
	error = attrdb_configured_clear(m->db, device->name);
	if (error)
		return database_failed(m, error);
	status = set_status(m, device, ODM_STATUS_DEFINED);
	return status == EXIT_DONE && is_ours(device) ? stop(m) : status;
}

bool method_is_left(const struct attrdb_device *device)
{
	struct running r;
	bool is_left;

	if (!is_ours(device) || running_init(&r, rundir_path()) != 0)
		return false;
	is_left = running_is_left(&r);
	running_fini(&r);
	return is_left;
}

/* Only looking may be possible: does it stand as it is to be already? */
static bool is_defined(const char *name)
{
	const struct attrdb_place place = {attrdb_dir(), ATTRDB_READ, 0};
	struct attrdb_device device;
	struct attrdb *db;
	char why[512];
	bool yes;

	if (attrdb_open(&db, &place, why, sizeof(why)) != 0)
		return false;
	yes = attrdb_device_get(db, name, &device) == 0 &&
	      method_status(device.status, device.uniquetype) ==
		  ODM_STATUS_DEFINED;
	attrdb_close(db);
	return yes;
}

int method_clear(struct method *m, const char *name)
{
	struct attrdb_device device = {.uniquetype = DEVCONF_UNIQUETYPE};
	int status;

	if (strcmp(name, RUNDIR_SNAPSHOT) != 0 || !method_is_left(&device)) {
		if (m->lacks_db)
			return is_defined(name) ? EXIT_DONE : EXIT_REFUSED;
		return message_command(m->cmd, MESSAGE_NO_DEVICE, name);
	}
	status = method_begin(m, &device, METHOD_UNCONFIGURE);
	if (status == EXIT_DONE)
		status = check_holders(m);
	return status == EXIT_DONE ? stop(m) : status;
}

int method_undefine(struct method *m, const struct attrdb_device *device)
{
	struct attrdb_device *list;
	struct details d = {0};
	int count = attrdb_device_list(m->db, device->name, NULL, &list);
	int error;

	if (count < 0)
		return database_failed(m, count);
	for (int i = 0; i < count; i++)
		details_add(&d, "child %s is defined", list[i].name);
	free(list);
	if (d.used)
		return message_method(m->cmd, METHOD_UNCONFIGURE,
				      MESSAGE_RELATIVE_STATE, &d);
	error = attrdb_device_remove(m->db, device->name);
	if (!error)
		error = attrdb_history_add(m->db, device->name, "",
					   method_state_name(device->status),
					   "Undefined");
	return error ? database_failed(m, error) : EXIT_DONE;
}
