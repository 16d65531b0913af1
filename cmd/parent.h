/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * parent: the place of a device below another one: -p and -w of commands.
 *
 * Works inside one change of the database, as the functions of method.h do.
 */
#ifndef CMD_PARENT_H
#define CMD_PARENT_H

#include "method.h"

/*
 * Stores the parent, in the name of a method; NULL changes nothing, "" is none.
 * Refused are a parent that does not exist, the device itself, one below it,
 * and any connection but "".
 */
int parent_set(struct method *m, struct attrdb_device *device,
	       const char *method, const char *parent, const char *connection);

#endif
