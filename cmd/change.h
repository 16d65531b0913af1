/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * change: new values for the attributes of a device.
 *
 * Works inside one change of the database, as the functions of method.h do.
 */
#ifndef CMD_CHANGE_H
#define CMD_CHANGE_H

#include "assign.h"
#include "method.h"

enum change_scope {
	CHANGE_BOTH,          /* database and running device */
	CHANGE_BOTH_LIVE,     /* the same, while it stays Available: -U */
	CHANGE_DATABASE_ONLY, /* -P */
	CHANGE_RUNNING_ONLY,  /* -T */
};

/*
 * Checks all pairs, then stores them. Nothing is stored unless everything is
 * valid. A device that is Available gets its new settings at once, unless the
 * scope says otherwise; of one that is not, only the database changes,
 * whatever the scope.
 */
int change_attributes(struct method *m, const struct attrdb_device *device,
		      const struct assign *assign, enum change_scope scope);

#endif
