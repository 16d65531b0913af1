/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* change: new values for the attributes of a device. */
#include "change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/attr_type.h"
#include "conf/devconf.h"

#include "database.h"
#include "doubts.h"

struct change {
	struct method *m;
	const struct attrdb_device *device;
	const struct assign *assign;
	enum change_scope scope;
	struct attrdb_attribute *list;
	int count;
	char (*values)[ODM_VALUE_SIZE]; /* new ones, beside the list */
	bool *is_named;
};

static int find_attribute(const struct change *c, const char *name)
{
	for (int i = 0; i < c->count; i++)
		if (strcmp(c->list[i].name, name) == 0)
			return i;
	return -1;
}

/* Pairs of attributes that the device does not have. */
static int check_names(const struct change *c)
{
	struct details d = {0};

	for (unsigned i = 0; i < c->assign->count; i++) {
		const char *name = c->assign->pairs[i].name;

		if (find_attribute(c, name) < 0)
			details_add(&d, "%s", name);
	}
	return d.used ? message_method(c->m->cmd, METHOD_CHANGE,
				       MESSAGE_NO_ATTRIBUTE, &d)
		      : EXIT_DONE;
}

static bool is_ours(const struct change *c)
{
	return strcmp(c->device->uniquetype, DEVCONF_UNIQUETYPE) == 0;
}

/* The new value of one attribute, or the reason why it cannot have it. */
static int check_value(const struct change *c, int i, const char *value,
		       char *why, size_t size)
{
	const struct attrdb_attribute *a = &c->list[i];
	const struct attr_type type = {a->rep, a->values};
	char checked[ODM_VALUE_SIZE];
	int error;

	if (!strchr(a->generic, 'U')) {
		snprintf(why, size, "cannot be changed");
		return -EINVAL;
	}
	if (c->scope == CHANGE_BOTH_LIVE && !strchr(a->generic, '+')) {
		snprintf(why, size,
			 "cannot be changed while the device is Available");
		return -EINVAL;
	}
	error =
	    attr_type_check(&type, value, checked, sizeof(checked), why, size);
	if (error) {
		snprintf(why + strlen(why), size - strlen(why), "%s",
			 is_ours(c) ? devconf_unit(a->name) : "");
		return error;
	}
	if (is_ours(c))
		return devconf_normalise(a->name, checked, c->values[i], why);
	strcpy(c->values[i], checked);
	return 0;
}

static int check_values(const struct change *c)
{
	struct details d = {0};

	for (int i = 0; i < c->count; i++) {
		const struct assign_pair *pair;
		char why[DEVCONF_WHY_SIZE];
		bool is_clear;

		strcpy(c->values[i], c->list[i].value);
		pair = assign_find(c->assign, c->list[i].name, &is_clear);
		c->is_named[i] = pair != NULL;
		if (!pair)
			continue;
		if (!is_clear)
			details_add(&d, "%s: two different values were given",
				    pair->name);
		else if (check_value(c, i, pair->value, why, sizeof(why)) != 0)
			details_add(&d, "%s: %s", pair->name, why);
	}
	return d.used ? message_method(c->m->cmd, METHOD_CHANGE,
				       MESSAGE_BAD_VALUE, &d)
		      : EXIT_DONE;
}

static int store(const struct change *c, int i)
{
	const struct attrdb_attribute *a = &c->list[i];
	bool is_temporary = c->scope == CHANGE_RUNNING_ONLY &&
			    c->device->status == ODM_STATUS_AVAIL;
	const char *old = is_temporary ? a->running : a->value;
	int error;

	if (!c->is_named[i])
		return 0;
	if (is_temporary)
		error = attrdb_running_put(c->m->db, c->device->name, a->name,
					   c->values[i]);
	else
		error = attrdb_attribute_put(c->m->db, c->device->name, a->name,
					     c->values[i]);
	if (!error && strcmp(old, c->values[i]) != 0)
		error = attrdb_history_add(c->m->db, c->device->name, a->name,
					   old, c->values[i]);
	return error;
}

static int store_all(const struct change *c)
{
	bool is_available = c->device->status == ODM_STATUS_AVAIL;
	bool applies = is_available && c->scope != CHANGE_DATABASE_ONLY;
	int status = EXIT_DONE;
	int error = 0;

	if (applies)
		status = method_begin(c->m, c->device, METHOD_CHANGE);
	if (status != EXIT_DONE)
		return status;

	for (int i = 0; i < c->count && !error; i++)
		error = store(c, i);
	/*
	 * As on AIX, the device takes over all that is in the database, also
	 * what an earlier chdev -P left waiting there.
	 */
	if (!error && is_available &&
	    (c->scope == CHANGE_BOTH || c->scope == CHANGE_BOTH_LIVE))
		error = attrdb_configured_set(c->m->db, c->device->name);
	if (error)
		return database_error(c->m->cmd, c->m->db, error);
	if (applies)
		status = method_apply(c->m, c->device, METHOD_CHANGE);
	for (int i = 0; i < c->count && status == EXIT_DONE; i++)
		if (c->is_named[i] && is_ours(c))
			doubts_say(c->m->cmd, c->list[i].name, c->values[i]);
	return status;
}

static int check_and_store(const struct change *c)
{
	int status = check_names(c);

	if (status == EXIT_DONE)
		status = check_values(c);
	return status == EXIT_DONE ? store_all(c) : status;
}

int change_attributes(struct method *m, const struct attrdb_device *device,
		      const struct assign *assign, enum change_scope scope)
{
	struct change c = {m, device, assign, scope, NULL, 0, NULL, NULL};
	int status = EXIT_REFUSED;

	c.count = attrdb_attributes_of_device(m->db, device->name, &c.list);
	if (c.count < 0)
		return database_error(m->cmd, m->db, c.count);
	c.values = calloc((size_t)c.count + 1, sizeof(*c.values));
	c.is_named = calloc((size_t)c.count + 1, sizeof(*c.is_named));
	if (c.values && c.is_named)
		status = check_and_store(&c);
	else
		message_command(m->cmd, MESSAGE_SYSTEM,
				"Cannot allocate memory. Free memory, and run "
				"the command again.");
	free(c.list);
	free(c.values);
	free(c.is_named);
	return status;
}
