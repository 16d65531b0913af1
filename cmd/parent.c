/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* parent: the place of a device below another one. */
#include "parent.h"

#include <errno.h>
#include <string.h>

#include "database.h"

#define DEPTH_MAX 16 /* as rmdev -R goes down */

/*
 * Does the way up from this device lead to one of that name, or to no end? In a
 * circle none could be configured first, nor removed first. -errno, 0 or 1.
 */
static int is_below(struct attrdb *db, const struct attrdb_device *device,
		    const char *name)
{
	struct attrdb_device at = *device;
	int error;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (strcmp(at.name, name) == 0)
			return 1;
		if (!at.parent[0])
			return 0;
		error = attrdb_device_get(db, at.parent, &at);
		if (error)
			return error == -ENOENT ? 0 : error;
	}
	return 1;
}

int parent_set(struct method *m, struct attrdb_device *device,
	       const char *method, const char *parent, const char *connection)
{
	struct attrdb_device above = {.name = ""};
	int error = 0;

	if (connection && connection[0])
		return message_method(m->cmd, method, MESSAGE_BAD_CONNECTION,
				      NULL);
	if (!parent)
		return EXIT_DONE;
	if (parent[0])
		error = attrdb_device_get(m->db, parent, &above);
	if (error == -ENOENT)
		return message_command(m->cmd, MESSAGE_NO_DEVICE, parent);
	if (!error && parent[0])
		error = is_below(m->db, &above, device->name);
	if (error > 0)
		return message_command(m->cmd, MESSAGE_BAD_PARAMETER, parent);
	if (!error) {
		strcpy(device->parent, above.name);
		error = attrdb_device_put(m->db, device);
	}
	return error ? database_error(m->cmd, m->db, error) : EXIT_DONE;
}
