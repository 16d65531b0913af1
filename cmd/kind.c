/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* kind: the flags that name a kind of devices. */
#include "kind.h"

#include <stdio.h>

#include "database.h"

bool kind_take(struct attrdb_kind *kind, int flag, const char *argument)
{
	switch (flag) {
	case 'c':
		kind->class_name = argument;
		return true;
	case 's':
		kind->subclass = argument;
		return true;
	case 't':
		kind->type = argument;
		return true;
	default:
		return false;
	}
}

bool kind_is_named(const struct attrdb_kind *kind)
{
	return kind->class_name || kind->subclass || kind->type;
}

int kind_find(const struct cmd *cmd, struct attrdb *db,
	      const struct attrdb_kind *kind, char uniquetype[ODM_UNIQUE_SIZE])
{
	char object[128];
	int count = attrdb_kind_find(db, kind, uniquetype);

	if (count < 0)
		return database_error(cmd, db, count);
	if (count == 1)
		return EXIT_DONE;
	snprintf(object, sizeof(object),
		 "class %.16s, subclass %.16s, type %.16s",
		 kind->class_name ? kind->class_name : "(any)",
		 kind->subclass ? kind->subclass : "(any)",
		 kind->type ? kind->type : "(any)");
	message_command(cmd, MESSAGE_NO_KIND, object);
	return EXIT_UNKNOWN;
}
